"""``budgetbandits campaign``: list, show, verify, export, back up and change campaigns."""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetbandits.cli.common import add_command

if TYPE_CHECKING:
    from budgetbandits.campaigns.campaign import Campaign
    from budgetbandits.campaigns.store import Store

__all__ = ["add_parser"]

_DESCRIPTION = """\
Look into the campaigns of a store, or change one; it may be in use. Looking writes nothing to it.

A store is named by its address: sqlite:///ads.db, sqlite:////home/me/ads.db (an absolute path), or
postgresql+psycopg://user@host/database.
"""

_VERIFY = """\
Replay the journal of a campaign, or of all: the entries must be complete, in order and those that were chained to each
other when they were written, the money must add up at each of them, and every pull must be the one that the policy with
its seed had to choose. The exit status is 1 if something is wrong.

The head of the chain is printed. Keep it somewhere else, and give it back with --expect another day: that proves that
nothing has changed or vanished that was there before.
"""


def add_parser(commands: Any) -> None:
    """Add ``campaign`` to the commands of a program."""
    campaign = commands.add_parser(
        "campaign",
        help="list, show, verify, export, back up and change campaigns",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    campaign.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="import a module first that defines a policy of your own; may be given several times",
    )
    verbs = campaign.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_list(verbs)
    _add_show(verbs)
    _add_verify(verbs)
    _add_export(verbs)
    _add_backup(verbs)
    _add_changes(verbs)


def _add_verb(verbs: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, description: str) -> Any:
    parser = add_command(
        verbs, name, run, summary=summary, description=description, after_interrupt="nothing was changed"
    )
    parser.add_argument("store", help="the address of the store")
    return parser


def _add_list(verbs: Any) -> None:
    _add_verb(verbs, "list", _list, "list all campaigns", "List the campaigns of a store.")


def _add_show(verbs: Any) -> None:
    show = _add_verb(verbs, "show", _show, "show money, arms and pending pulls", "Show how a campaign stands.")
    show.add_argument("name", help="the name of the campaign")


def _add_verify(verbs: Any) -> None:
    verify = _add_verb(verbs, "verify", _verify, "replay and check a journal", _VERIFY)
    verify.add_argument("name", nargs="?", help="the name of the campaign; all by default")
    verify.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="HEAD",
        help="a head that the chain must have had; may be given several times, with the name of a campaign",
    )


def _add_export(verbs: Any) -> None:
    description = "Write the journal of a campaign, one row an entry."
    export = _add_verb(verbs, "export", _export, "write a journal to a file", description)
    export.add_argument("name", help="the name of the campaign")
    export.add_argument("file", type=Path, help="the file: *.jsonl, *.csv or *.parquet")
    export.add_argument("--format", choices=["jsonl", "csv", "parquet"], help="whatever the file's name says")
    export.add_argument("--force", action="store_true", help="replace a file that is there already")


_BACKUP = """\
Write a copy of a store to a file, as it stands at one moment; it may be in use meanwhile. The copy is a store, too. The
head of each campaign in it is printed: keep it, to prove with `verify --expect` that a restored copy is the newest one.
A plain copy of the file of a store is no backup: what was written last is in the log beside it.
"""


def _add_backup(verbs: Any) -> None:
    backup = _add_verb(verbs, "backup", _backup, "copy a store that may be in use", _BACKUP)
    backup.add_argument("file", type=Path, help="the file to write, a new one")


_FUNDS = """\
{} The key makes it repeatable: the same again, with the same key,
changes nothing, so give something of its own to each, such as the number of an invoice. All that spend the budget go on
meanwhile, and know of it at once.
"""


def _add_changes(verbs: Any) -> None:
    deposit = "Add money to the budget of a campaign."
    withdraw = "Take money out of the budget of a campaign: no more than is neither spent nor reserved."
    for name, run, summary in (("deposit", _deposit, deposit), ("withdraw", _withdraw, withdraw)):
        parser = _add_change(verbs, name, run, summary, _FUNDS.format(summary))
        parser.add_argument(
            "amount", nargs="+", help="how much, such as 100.00; of resources with names, such as usd=100.00 gpu_s=3600"
        )
        parser.add_argument("--key", required=True, help="what makes it repeatable, such as the number of an invoice")
        parser.add_argument("--reason", help="why, for the journal")
    settle = (
        "Pay the bill of a pull whose reward comes later, or never. The rest of its reservation is given back at once."
    )
    parser = _add_change(verbs, "settle", _settle, "pay the bill of a pull before its reward", settle)
    parser.add_argument("pull", type=int, help="its id, as `campaign show` has it")
    parser.add_argument(
        "cost", nargs="*", help="what it cost, if that is not what was reserved: 0.08, or usd=0.08 gpu_s=5 of resources"
    )
    _add_arm_changes(verbs)
    _add_observe(verbs)
    pause = "Hand out no pulls until the campaign is resumed. Pulls that are outstanding can be told."
    _add_change(verbs, "pause", _changed_by("pause"), "hand out no pulls for now", pause)
    _add_change(verbs, "resume", _changed_by("resume"), "hand out pulls again", "Hand out pulls again after a pause.")
    close = "Hand out no more pulls, for ever. Pulls that are outstanding can be told."
    _add_change(verbs, "close", _changed_by("close"), "hand out no more pulls", close)


_ARM_COST = (
    "what a pull costs, such as 0.10, or the range 0.05..0.25 if that is known afterwards; of resources with names, "
    "such as usd=0.10 gpu_s=5..20"
)


def _add_arm_changes(verbs: Any) -> None:
    add = "Add an arm to a campaign. Its policy has not tried it yet."
    parser = _add_change(verbs, "add-arm", _add_arm, "add an arm", add)
    parser.add_argument("arm", help="its name")
    parser.add_argument("cost", nargs="+", help=_ARM_COST)
    parser.add_argument("--limit", type=int, help="how often it may be pulled; as often as there is money by default")
    reprice = "Let pulls of an arm cost something else from now on. Those that are outstanding keep their price."
    parser = _add_change(verbs, "reprice", _reprice, "change what an arm costs", reprice)
    parser.add_argument("arm", help="its name")
    parser.add_argument("cost", nargs="+", help=_ARM_COST)
    limit = "Let an arm be pulled so often in all, pulls so far included. That brings back one that was retired."
    parser = _add_change(verbs, "limit", _limit, "limit the pulls of an arm", limit)
    parser.add_argument("arm", help="its name")
    parser.add_argument("limit", help="the number of pulls, or none for as often as there is money")
    retire = "Let an arm be pulled no more. Its pulls that are outstanding can be told."
    _add_change(verbs, "retire", _retire, "pull an arm no more", retire).add_argument("arm", help="its name")


_OBSERVE = """\
Let the policy of a campaign learn from pulls that were made elsewhere, before the campaign say: they teach, and cost
nothing here. They are read from a CSV file whose first line names its columns: arm, reward and, for arms whose cost is
known only afterwards, cost; where resources have names, a column each by these names in place of cost. The same again,
with the same key, changes nothing.
"""


def _add_observe(verbs: Any) -> None:
    parser = _add_change(verbs, "observe", _observe, "learn from pulls made elsewhere", _OBSERVE)
    parser.add_argument("file", type=Path, help="the file: *.csv, with at most 10000 observations")
    parser.add_argument("--key", required=True, help="what makes it repeatable, such as the name of the file")


def _add_change(verbs: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, description: str) -> Any:
    parser = _add_verb(verbs, name, run, summary[0].lower() + summary[1:].rstrip("."), description)
    parser.add_argument("name", help="the name of the campaign")
    parser.add_argument("--actor", metavar="WHO", help="who does it, for the journal, such as alice")
    return parser


def _change(options: argparse.Namespace, change: "Callable[[Campaign], None]") -> int:
    from budgetbandits.campaigns.store import open_store

    with _open(options) as store:  # to write would create what is not there
        store.open(options.name)
    with open_store(options.store) as store:
        ads = store.open(options.name)
        change(ads if options.actor is None else ads.acting_as(options.actor))
        print(f"{ads.name}: {_state(ads)}")
        for line in _shown_money(ads):
            print(line)
    return 0


def _changed_by(verb: str) -> Callable[[argparse.Namespace], int]:
    return lambda options: _change(options, lambda ads: getattr(ads, verb)())


def _deposit(options: argparse.Namespace) -> int:
    return _change(options, lambda ads: ads.deposit(_amounts(options.amount), key=options.key, reason=options.reason))


def _withdraw(options: argparse.Namespace) -> int:
    return _change(options, lambda ads: ads.withdraw(_amounts(options.amount), key=options.key, reason=options.reason))


def _settle(options: argparse.Namespace) -> int:
    cost = _amounts(options.cost) if options.cost else None
    return _change(options, lambda ads: ads.settle(options.pull, cost))


def _add_arm(options: argparse.Namespace) -> int:
    return _change(options, lambda ads: ads.add_arm(options.arm, _amounts(options.cost), limit=options.limit))


def _reprice(options: argparse.Namespace) -> int:
    return _change(options, lambda ads: ads.reprice(_arm(_names(ads), options.arm), _amounts(options.cost)))


def _limit(options: argparse.Namespace) -> int:
    from budgetbandits.errors import InvalidInput

    if options.limit != "none" and not options.limit.isdecimal():
        raise InvalidInput(f"limit is {options.limit!r}: give a number of pulls, or none")
    limit = None if options.limit == "none" else int(options.limit)
    return _change(options, lambda ads: ads.set_limit(_arm(_names(ads), options.arm), limit))


def _retire(options: argparse.Namespace) -> int:
    return _change(options, lambda ads: ads.retire(_arm(_names(ads), options.arm)))


def _observe(options: argparse.Namespace) -> int:
    rows = _read(options.file)

    def observe(ads: "Campaign") -> None:
        names, resources = _names(ads), list(ads.resources)
        ads.observe([_row(row, names, resources) for row in rows], key=options.key)

    return _change(options, observe)


def _read(path: Path) -> list[dict[str, str]]:
    import csv

    from budgetbandits.errors import InvalidInput

    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines, strict=True, skipinitialspace=True, restval=""))
    except (OSError, UnicodeError, csv.Error) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from error
    if missing := {"arm", "reward"} - set(rows[0] if rows else ("arm", "reward")):
        raise InvalidInput(f"{path} has no column {min(missing)!r}: its first line must name arm and reward")
    return rows


def _row(row: dict[str, str], names: list[str | int], resources: list[str]) -> tuple[Any, ...]:
    """Return an observation from a line of a file; what is no number is refused later, with its place."""
    try:
        reward: Any = float(row["reward"])
    except ValueError:
        reward = row["reward"]
    named = {name: row[name] for name in resources if row.get(name)}
    cost = named or row.get("cost") or None
    return (_arm(names, row["arm"]), reward, cost)


def _names(ads: "Campaign") -> list[str | int]:
    return [row.name for row in ads.arms]


def _arm(names: list[str | int], given: str) -> str | int:
    """Return the name of an arm, which may be a number."""
    return int(given) if given.isdecimal() and given not in names else given


def _amounts(given: list[str]) -> str | dict[str, str]:
    """Return an amount or a range, or one of each resource by its name, from words such as "usd=10" and "s=5 to 20"."""
    from budgetbandits.errors import InvalidInput

    words = re.sub(r"\n(to|\.\.)\n", "..", "\n".join(given)).split("\n")  # 5 to 20 without quotes is three words
    if len(words) == 1 and "=" not in words[0]:
        return words[0]
    named = dict[str, str]()
    for word in words:
        name, sign, amount = word.rpartition("=")
        if not sign or name in named:
            raise InvalidInput(
                f"{word!r} is no amount: give one, such as 100.00, or one of each resource, such as usd=10 gpu_s=60, "
                "or a range such as 0.05..0.40 if it is the cost of an arm"
            )
        named[name] = amount
    return named


def _state(ads: "Campaign") -> str:
    return "closed" if ads.is_closed else "paused" if ads.is_paused else "open"


def _shown_money(ads: "Campaign") -> list[str]:
    lines = []
    for name, money in (ads.resources or {"budget": ads.money}).items():
        overrun = f" ({money.overrun} more than was reserved)" if money.overrun else ""
        lines.append(
            f"{name} {money.budget}: spent {money.spent}{overrun}, reserved {money.reserved}, left {money.left}"
        )
    return lines


def _open(options: argparse.Namespace) -> "Store":
    from importlib import import_module

    from budgetbandits.campaigns.store import open_store
    from budgetbandits.errors import InvalidInput

    for module in options.modules:
        try:
            import_module(module)
        except ImportError as error:
            raise InvalidInput(f"--import {module}: it cannot be imported: {error}") from error
    return open_store(options.store, read_only=True)


def _list(options: argparse.Namespace) -> int:
    with _open(options) as store:
        print(store.list())
    return 0


def _show(options: argparse.Namespace) -> int:
    from budgetbandits.campaigns.times import in_words
    from budgetbandits.core.tables import cell_text

    with _open(options) as store:
        ads = store.open(options.name).as_of_now()
        leases = ads.leases
        print(f"{ads.name}: {ads.policy!r}, seed {ads.seed}, {_state(ads)}")
        print(f"created {ads.created:%Y-%m-%d %H:%M:%S} UTC, lease {ads.lease or 'none'}, on expiry: {ads.on_expire}")
        for line in _shown_money(ads):
            print(line)
        skip = ", which may be declined" if ads.skip else ""
        if ads.requests is not None:
            print(f"{ads.requests} requests{skip}: left {ads.requests_left}")
        if (rate := ads.requests_rate) is not None:
            print(f"requests until {rate.until:%Y-%m-%d %H:%M:%S} UTC{skip}: {rate}")
        if ads.refill is not None:
            come = [f"{amount} {name}" for name, amount in ads.resources_available.items()] or [str(ads.available)]
            print(f"refilled every {in_words(ads.refill)}: {', '.join(come)} available")
        print(f"{ads.pulls} pulls, rewards of {ads.reward_total:g}\n\n{ads.arms}\n")
        if ads.retired:
            print(f"retired: {', '.join(map(cell_text, ads.retired))}")
        print(f"pending pulls: {len(leases)}")
        if leases:
            print(leases)
    return 0


def _verify(options: argparse.Namespace) -> int:
    from budgetbandits.campaigns.chain import checked_heads
    from budgetbandits.errors import BudgetBanditsError, InvalidInput, StoreUnavailable

    expected = checked_heads(options.expect)
    if options.expect and not options.name:
        raise InvalidInput("--expect is given without a name: say whose head it is")
    status = 0
    with _open(options) as store:
        for name in [options.name] if options.name else [row.name for row in store.list()]:
            try:
                totals = store.open(name).verify(expected)
            except StoreUnavailable:
                raise
            except BudgetBanditsError as error:  # the others are verified nevertheless
                print(f"budgetbandits: {name}: {error}", file=sys.stderr)
                status = 1
            else:
                ads = store.open(name)
                older = f" ({ads.adopted} are older than the chain)" if ads.adopted else ""
                print(f"{name}: ok, {totals.entries} entries{older}, spent {_spent(ads)}, head {totals.head}")
    return status


def _spent(ads: "Campaign") -> str:
    if not ads.resources:
        return f"{ads.money.spent} of {ads.money.budget}"
    return ", ".join(f"{money.spent} of {money.budget} {name}" for name, money in ads.resources.items())


def _export(options: argparse.Namespace) -> int:
    from budgetbandits.campaigns.export import export

    with _open(options) as store:
        rows = export(store.open(options.name), options.file, options.format, force=options.force)
    print(f"{options.file}: {rows} entries")
    return 0


def _backup(options: argparse.Namespace) -> int:
    from budgetbandits.campaigns.store import open_store

    with _open(options) as store:
        store.backup(options.file)
    with open_store(f"sqlite:///{options.file.absolute()}", read_only=True) as copy:
        for record in copy.backend.list():
            print(f"{record.name}: {record.totals.entries} entries, head {record.totals.head}")
    return 0
