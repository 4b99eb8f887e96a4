"""A player as JSON text, and back. Whatever is read is checked: a damaged text is refused, not played with."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.core.books import Books
from budgetbandits.core.checks import check_whole, is_whole, limits_of, named_costs
from budgetbandits.core.fallback import Fallback, fallback_of
from budgetbandits.core.money import Amount, PriceList, Unit
from budgetbandits.core.pulls import Answer, Late, Reservation, Terms
from budgetbandits.core.resources import Account, Bill, check_none_is_free
from budgetbandits.errors import InvalidState
from budgetbandits.live.learning import Learning, mean_costs_in, mean_costs_of
from budgetbandits.live.player import Decision, Player
from budgetbandits.policies import Forgetful, Policy
from budgetbandits.policies.memories import restore_past, saved_past
from budgetbandits.policies.resources import Resources
from budgetbandits.policies.state import Arms

__all__ = ["from_json", "restore_state", "saved_state", "to_json"]

_FORMAT: Final = "budgetbandits.learner"
# Learners are written in the oldest version that can say them, so that older packages read what they understand:
_PLAIN: Final = 5
_CHANGED: Final = 6


def to_json(player: Player) -> str:
    """Return everything about a player as JSON text."""
    books, late = player.books, player.books.late.values()
    money, changed = _saved_account(books.first), _saved_where_changed(player, _remembered_pulls(books))
    return json.dumps(
        {
            "format": _FORMAT,
            "version": _CHANGED if changed else _PLAIN,
            "policy": player.policy.to_data(),
            "names": list(books.names),
            "unit": money["unit"],
            "prices": money["prices"],
            "least": money["least"],
            "limits": [None if limit == UNLIMITED else limit for limit in books.limits.tolist()],
            "budget": money["budget"],
            "reward_range": [player.reward_low, player.reward_high],
            "seed": player.seed,
            "run": player.run,
            "asked": books.asked,
            "spent": money["spent"],
            "reward_total": player.reward_total,
            "saved": money["saved"],
            **({"overrun": money["overrun"]} if "overrun" in money else {}),
            "pending": [_saved_pull(player, pull) for pull in books.outstanding.values()],
            "expired": [[*_saved_pull(player, pull), released] for pull, released, bill in late if bill is None],
            "cancelled": sorted(books.cancelled),
        }
        | _saved_estimates(player)
        | _saved_where_used(player)
        | changed,
        allow_nan=False,
    )


def _saved_account(account: Account) -> dict[str, Any]:
    bill = account.bill
    overrun = {"overrun": account.overrun} if account.overrun else {}
    return overrun | {
        "unit": [bill.unit.base, bill.unit.exponent],
        "prices": bill.prices.tolist(),
        "least": None if bill.least is None else bill.least.tolist(),
        "budget": bill.budget,
        "spent": account.spent,
        "saved": account.saved,
    }


def _saved_pull(player: Player, pull: Reservation) -> list[Any]:
    return [pull.number, pull.arm, pull.place, player.decisions[pull.number].learns]


def _saved_where_used(player: Player) -> dict[str, Any]:
    """Return what most learners do without: resources, requests, overruns, keys."""
    used = dict[str, Any]()
    if player.books.resource_names:
        # The first one stands where money alone does.
        used["resources"] = {str(account.name): _saved_account(account) for account in player.books.accounts[1:]}
        used["resource"] = player.books.first.name
    if player.books.requests is not None:
        used |= {"requests": player.books.requests, "skip": player.books.skip, "declined": player.books.declined}
    if settled := [each for each in player.books.late.values() if each.bill is not None]:
        used["settled"] = [[*_saved_pull(player, each.reservation), each.bill] for each in settled]
    if player.books.may_overrun:
        used["may_overrun"] = True
    if player.books.answers:
        used["answers"] = {
            key: [wanted, [[pull.number, pull.arm, pull.place] for pull in pulls]]
            for key, (wanted, pulls) in player.books.answers.items()
        }
    return used


def _remembered_pulls(books: Books) -> list[Reservation]:
    answered = [pull for answer in books.answers.values() for pull in answer.pulls]
    return [*books.outstanding.values(), *(each.reservation for each in books.late.values()), *answered]


def _saved_where_changed(player: Player, pulls: Iterable[Reservation]) -> dict[str, Any]:
    """Return what does not follow from the prices and budgets of now, of these pulls, where they changed on the way."""
    books, changed = player.books, dict[str, Any]()
    if books.changes:
        changed["changes"] = books.changes
    if terms := {str(pull.number): list(pull.terms) for pull in pulls if pull.terms != books.terms(pull.arm)}:
        changed["terms"] = terms
    if any(account.saved + account.overrun < 0 for account in books.accounts):
        changed["repriced"] = True
    if player.learning.has_observed:
        changed["observed"] = player.learning.observed.tolist()
    if books.fallback != fallback_of(books.bills, books.limits, books.requests, skip=books.skip):
        changed["fallback"] = list(books.fallback)
    return changed


def _saved_estimates(player: Player) -> dict[str, Any]:
    """Return what is known of the arms."""
    arms = player.learning.arms
    saved = {
        "pulls": arms.pulls.tolist(),
        "told": arms.told.tolist(),
        "reward_sum": arms.reward_sum.tolist(),
        "reward_squares": arms.reward_squares.tolist(),
        "reward_seen": player.learning.reward_seen,
        "notes": arms.notes.tolist() if arms.notes.any() else None,
    }
    if arms.histogram.shape[1] > 0:
        saved["histogram"] = arms.histogram.tolist()
    if arms.resources is not None:
        saved["cost_sums"] = arms.resources.cost_sums.tolist()
    if player.books.has_random_costs:
        saved |= {"cost_sum": arms.cost_sum.tolist(), "cost_squares": arms.cost_squares.tolist()}
        if not np.array_equal(arms.cost_told, player.learning.costs_with_rewards):
            saved["cost_told"] = arms.cost_told.tolist()
    if isinstance(player.policy, Forgetful):
        saved["memory"] = saved_past(player.learning.past)
    return saved


def from_json(text: str) -> Player:
    """Return the player that `to_json` described, or raise `InvalidState`."""
    data = _parse(text)
    try:
        return _restored(data)
    except InvalidState:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InvalidState(f"the saved learner is damaged ({error!r}): restore it from another copy") from error


def _parse(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidState(f"this is no complete JSON text ({error}): restore it from another copy") from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise InvalidState(f"this JSON text is no saved learner: its 'format' must be {_FORMAT!r}")
    if data.get("version") not in (_PLAIN, _CHANGED):
        raise InvalidState(
            f"the saved learner has the format version {data.get('version')!r}, and this package reads {_PLAIN} and "
            f"{_CHANGED}: use the package version that wrote it"
        )
    return data


def _restored(data: dict[str, Any]) -> Player:
    names, prices = named_costs(list(zip(data["names"], data["prices"], strict=True)))
    player = Player(
        Policy.from_data(data["policy"]),
        names,
        _restored_bills(data, prices),
        limits_of(data["limits"], names, least=0),  # 0 for one that is retired
        data["reward_range"],
        data["seed"],
        data["run"],
        requests=data.get("requests"),
        skip=data.get("skip", False),
        may_overrun=data.get("may_overrun", False) is True,
    )
    player.books.restore_pulls(player.books.skip_arm, check_whole(data.get("declined", 0), "the declined requests", 53))
    _restore_arms(player, data)
    _restore_pulls(player, data)
    _restore_answers(player, data)
    _restore_changes(player, data)
    if any(account.left + account.overrun < 0 for account in player.books.accounts):
        raise InvalidState("the saved learner is damaged: it spent more than its budget")
    return player


def _restored_bills(data: dict[str, Any], prices: Sequence[Amount] | Floats) -> Bill:
    is_free = data.get("requests") is not None
    if data.get("resource") is None:
        return _restored_bill(data, prices, is_free=is_free)
    further = data["resources"]
    if not isinstance(data["resource"], str) or data["resource"] in further:
        raise InvalidState(f"the saved learner is damaged: {data['resource']!r} is no name of a resource")
    bills = {data["resource"]: _restored_bill(data, prices, is_free=True)}
    bills |= {name: _restored_bill(saved, saved["prices"], is_free=True) for name, saved in further.items()}
    if any(bill.budget == 0 for bill in bills.values()):
        raise InvalidState("the saved learner is damaged: there is nothing of one of its resources")
    if not is_free:
        check_none_is_free(data["names"], bills)
    return bills


def _restored_bill(data: dict[str, Any], prices: Sequence[Amount] | Floats, *, is_free: bool) -> PriceList:
    base, exponent = data["unit"]
    # No float64 needs more places: the last one of the smallest is 2^-1074.
    unit = Unit(base, check_whole(exponent, "the exponent of the unit", 11))
    budget = check_whole(data["budget"], "the budget", 107 if base == 2 else 54)
    array = np.array(prices, np.float64)
    is_exact = all(
        (price > 0 or (price == 0 and is_free)) and unit.price(unit.units(price)) == price for price in array.tolist()
    )
    if base not in (2, 10) or not is_exact:
        raise InvalidState(f"the saved learner is damaged: {prices} are no prices in units of {base}^-{exponent}")
    least = None if data["least"] is None else np.array(data["least"], np.float64)
    if least is not None and (least.shape != array.shape or not ((least >= 0) & (least <= array)).all()):
        raise InvalidState("the saved learner is damaged: its least costs make no sense")
    return PriceList(unit, array, budget, least)


# Arms


def _restore_arms(player: Player, data: dict[str, Any]) -> None:
    books, learning = player.books, player.learning
    arms, low, high = learning.arms, player.reward_low, player.reward_high
    _restore_observed(learning, data)
    rows = zip(data["pulls"], data["told"], data["reward_sum"], data["reward_squares"], books.names, strict=True)
    for arm, (pulls, told, reward_sum, reward_squares, name) in enumerate(rows):
        own = check_whole(pulls, f"the number of pulls of arm {name!r}", 53) - int(learning.observed[arm])
        books.restore_pulls(arm, check_whole(own, f"the number of own pulls of arm {name!r}", 53))
        learning.add_pulls(arm, int(pulls))
        arms.told[arm] = check_whole(told, f"the number of rewards of arm {name!r}", 53)
        arms.reward_sum[arm] = reward_sum
        arms.reward_squares[arm] = reward_squares
    known = np.flatnonzero(arms.told)
    arms.mean[known] = arms.reward_sum[known] / arms.told[known]
    slack = 1e-9 * high  # for the rounding of long sums
    is_sane = (
        (arms.told <= arms.pulls)
        & (arms.mean >= low - slack)
        & (arms.mean <= high + slack)
        & (arms.reward_squares >= 0)
        & (arms.reward_squares < math.inf)
        & ((arms.told > 0) | (arms.reward_sum == 0))
    )
    _restore_notes(player, data["notes"])
    if arms.histogram.shape[1] > 0:
        _restore_histogram(arms, data["histogram"])
    _restore_seen(player, data["reward_seen"])
    if not is_sane.all() or (arms.mean > learning.reward_seen + slack).any():
        raise InvalidState("the saved learner is damaged: its counts or rewards make no sense")
    if books.has_random_costs:
        _restore_costs(player, data)
    if arms.resources is not None:
        _restore_resources(arms, arms.resources, data["cost_sums"])
    if isinstance(player.policy, Forgetful):
        restore_past(learning.memory, learning.past, data["memory"], high)


def _restore_observed(learning: Learning, data: dict[str, Any]) -> None:
    if "observed" in data:
        observed = [check_whole(count, "the number of observations", 53) for count in data["observed"]]
        learning.observed[:], learning.has_observed = observed, True


def _restore_notes(player: Player, notes: list[float] | None) -> None:
    if notes is None:
        return
    are_numbers = len(notes) == len(player.learning.arms.notes) and all(type(note) in (float, int) for note in notes)
    if not are_numbers or not np.isfinite(notes).all():
        raise InvalidState("the saved learner is damaged: it must hold a note, a number, for each arm, or none")
    player.learning.arms.notes[:] = notes


def _restore_histogram(arms: Arms, rows: list[list[float]]) -> None:
    counts = np.array(rows, np.float64)
    if counts.shape != arms.histogram.shape or not (counts >= 0).all():
        raise InvalidState("the saved learner is damaged: it must hold how often each arm has paid how much")
    if not np.allclose(counts.sum(axis=1), arms.told, rtol=1e-6, atol=1e-6):
        raise InvalidState("the saved learner is damaged: its counts of rewards do not add up to their number")
    arms.histogram[:] = counts


def _restore_seen(player: Player, reward_seen: Any) -> None:
    if type(reward_seen) not in (float, int) or not player.reward_low <= reward_seen <= player.reward_high:
        raise InvalidState(f"the saved learner is damaged: its greatest reward, {reward_seen!r}, is none")
    player.learning.reward_seen = float(reward_seen)


def _restore_costs(player: Player, data: dict[str, Any]) -> None:
    arms, prices = player.learning.arms, player.learning.greatest_costs
    arms.cost_sum[:], arms.cost_squares[:] = data["cost_sum"], data["cost_squares"]
    counts = data.get("cost_told", player.learning.costs_with_rewards)
    arms.cost_told[:] = [check_whole(count, "the number of costs of an arm", 53) for count in counts]
    random = np.flatnonzero(player.learning.is_random_cost)
    arms.mean_cost[random] = mean_costs_of(arms, prices)[random]
    is_sane = (
        (arms.cost_sum >= 0)
        & (arms.cost_sum <= arms.cost_told * prices * (1 + 1e-9))
        & (arms.cost_squares >= 0)
        & (arms.cost_squares <= arms.cost_told * prices**2 * (1 + 1e-9))
        & (arms.cost_told <= arms.pulls)
    )
    if not is_sane.all():
        raise InvalidState("the saved learner is damaged: its costs make no sense")


def _restore_resources(arms: Arms, resources: Resources, cost_sums: list[list[float]]) -> None:
    resources.cost_sums[:] = cost_sums
    resources.mean_costs[:] = mean_costs_in(resources, arms.told, arms.cost_told)
    known = np.flatnonzero(arms.cost_told)
    means = resources.cost_sums[:, known] / arms.cost_told[known]
    low, high = resources.costs_low[:, known], resources.costs[:, known]
    slack = 1e-9 * high
    is_sane = (means >= low - slack) & (means <= high + slack)
    if not is_sane.all() or resources.cost_sums[:, arms.cost_told == 0].any():
        raise InvalidState("the saved learner is damaged: its costs make no sense")


def _restore_changes(player: Player, data: dict[str, Any]) -> None:
    books = player.books
    books.changes = {str(key): str(change) for key, change in data.get("changes", {}).items()}
    if "fallback" in data:
        arm, is_certain = data["fallback"]
        if not is_whole(arm) or not -1 <= arm < books.skip_arm or books.requests is None:
            raise InvalidState(f"the saved learner is damaged: {arm!r} is no arm that answers all requests")
        player.restore_fallback(Fallback(int(arm), bool(is_certain)))


# Pulls


def _restore_pulls(player: Player, data: dict[str, Any]) -> None:
    books = player.books
    books.asked = check_whole(data["asked"], "the number of asks", 56)
    for account, saved in zip(books.accounts, (data, *data.get("resources", {}).values()), strict=True):
        account.spent = check_whole(saved["spent"], "the money spent", 107)
        account.overrun = check_whole(saved.get("overrun", 0), "the overrun", 107)
        # Overruns are savings below nothing, and so are prices that were higher before.
        below = 1 << 107 if data.get("repriced") else account.overrun
        account.saved = check_whole(saved["saved"] + below, "the money saved", 108) - below
    books.cancelled = {check_whole(number, "a cancelled pull", 56) for number in data["cancelled"]}
    player.reward_total = float(data["reward_total"])
    for *saved, learns in data["pending"]:
        pull = _restored_pull(player, data, *saved)
        books.restore_outstanding(pull)
        player.decisions[pull.number] = Decision(bool(learns), player.draw_of(pull.number))
    for *saved, learns, is_released in data["expired"]:
        pull = _restored_pull(player, data, *saved)
        player.recall_late(Late(pull, bool(is_released)), learns=bool(learns))
    settled = data.get("settled", [])
    for *saved, learns, bill in settled:
        pull, prices = _restored_pull(player, data, *saved), tuple(check_whole(price, "a bill", 107) for price in bill)
        if not books.can_have_cost(pull, prices):
            raise InvalidState(f"the saved learner is damaged: pull {pull.number} cannot have cost {bill}")
        player.recall_late(Late(pull, is_released=False, bill=prices), learns=bool(learns))
    _check_pulls(player, [saved[0] for saved in (*data["pending"], *data["expired"], *settled)] + data["cancelled"])


def _restored_pull(player: Player, data: dict[str, Any], number: int, arm: int, place: int) -> Reservation:
    check_whole(number, "the id of a pull", 56)
    check_whole(arm, "the arm of a pull", 32)
    check_whole(place, "the number of a pull", 56)
    if arm == player.books.skip_arm and not player.books.skip:
        raise InvalidState(f"the saved learner is damaged: pull {number} is of an arm that there is not")
    terms = player.books.terms(arm)
    if saved := data.get("terms", {}).get(str(number)):
        terms = _restored_terms(saved, len(terms.prices))
    return Reservation(number, arm, place, *terms)


def _restored_terms(saved: list[Any], resources: int) -> Terms:
    """Return under which terms a pull was asked for that are not those of its arm any more."""
    prices, least = saved
    prices = tuple(check_whole(price, "a price", 107) for price in prices)
    lows = least or (None,) * resources
    for low, price in zip(lows, prices, strict=True):
        if low is not None and check_whole(low, "a least price", 107) >= price:
            raise InvalidState("the saved learner is damaged: its pulls cannot have cost that")
    if len(prices) != resources:
        raise InvalidState("the saved learner is damaged: its pulls have another number of prices")
    return Terms(prices, None if least is None else tuple(least))


def _check_pulls(player: Player, ids: list[int]) -> None:
    """Raise unless pulls, counts and money agree; `ids` are those of all pulls that are not told."""
    books, arms = player.books, player.learning.arms
    charged = [each.reservation for each in books.late.values() if not each.is_released]
    own_pulls = (arms.pulls - player.learning.observed).tolist()
    told_or_not = arms.told.copy()
    for pull in (*books.outstanding.values(), *charged):
        if pull.arm != books.skip_arm:
            told_or_not[pull.arm] += 1
    told = books.pulls - len(books.outstanding) - len(charged)
    if (
        books.asked != told + len(ids) + player.learning.observed_in_all
        or not all(_adds_up(account, own_pulls, books.outstanding.values(), charged) for account in books.accounts)
        or (told_or_not > arms.pulls).any()
        or len(ids) != len(set(ids))
        or not all(1 <= number <= books.asked for number in ids)
        or not 0 <= player.reward_total <= told * player.reward_high * (1 + 1e-9)
    ):
        raise InvalidState("the saved learner is damaged: its pulls do not add up")


def _adds_up(account: Account, pulls: list[int], open_pulls: Iterable[Reservation], charged: list[Reservation]) -> bool:
    cost_of_pulls = sum(count * account.price(arm) for arm, count in enumerate(pulls) if count)
    is_whole = cost_of_pulls == account.spent + account.reserved + account.saved
    is_possible = account.overrun <= account.spent
    unsettled, settled = (sum(account.price(pull.arm) for pull in pulls) for pulls in (open_pulls, charged))
    return is_whole and is_possible and unsettled + settled <= cost_of_pulls


def _restore_answers(player: Player, data: dict[str, Any]) -> None:
    books = player.books
    for key, (wanted, saved) in data.get("answers", {}).items():
        pulls = [_restored_pull(player, data, *pull) for pull in saved]
        check_whole(wanted, f"the number of pulls wanted with {key!r}", 16)
        if not 1 <= len(pulls) <= wanted or not all(1 <= pull.number <= books.asked for pull in pulls):
            raise InvalidState(f"the saved learner is damaged: its answer to {key!r} makes no sense")
        books.answers[key] = Answer(wanted, pulls)


# What follows from the past


def saved_state(player: Player, *, expects: bool) -> dict[str, Any]:
    """Return what the past has made of a player, as JSON can hold it: all but its settings and its settled pulls.

    What it expects of the future (`Player.expect`) is left out, too.
    """
    books = player.books
    changed = _saved_where_changed(player, books.outstanding.values())
    if expects:
        changed.pop("fallback", None)
    return (
        _saved_estimates(player)
        | changed
        | {
            "asked": books.asked,
            "declined": books.declined,
            "accounts": [[account.spent, account.saved, account.overrun] for account in books.accounts],
            "reward_total": player.reward_total,
            "pending": [_saved_pull(player, pull) for pull in books.outstanding.values()],
        }
    )


def restore_state(player: Player, data: dict[str, Any]) -> None:
    """Bring a player that has not asked yet into the state that `saved_state` returned."""
    books = player.books
    books.restore_pulls(books.skip_arm, data["declined"])
    _restore_arms(player, data)
    books.asked, player.reward_total = data["asked"], data["reward_total"]
    for account, (spent, saved, overrun) in zip(books.accounts, data["accounts"], strict=True):
        account.spent, account.saved, account.overrun = spent, saved, overrun
    for *saved, learns in data["pending"]:
        pull = _restored_pull(player, data, *saved)
        books.restore_outstanding(pull)
        player.decisions[pull.number] = Decision(learns, player.draw_of(pull.number))
    _restore_changes(player, data)
