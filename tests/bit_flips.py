"""Flip bits of a store, one at a time, and see whether any harm goes unnoticed.

``python tests/bit_flips.py 10000`` flips so many in the database and as many in the log beside it, and prints what came
of that. In the log a flip takes the commits behind it away, which only a head that was kept elsewhere can tell.
"""

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import budgetbandits as bb
from budgetbandits.errors import BudgetBanditsError
from budgetbandits.testing import HandClock, new_campaign

NAMES = ("plain", "jobs")


def busy_store(folder: Path) -> dict[str, Any]:
    """Fill a store with two campaigns; copy it with its log as it is in use, and return what it shows of itself."""
    clock = HandClock()
    often = patch("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", 15)
    with often, bb.open_store(f"sqlite:///{folder}/a.db", clock=clock) as store:
        plain = new_campaign(store, "plain", limits={"a": 9})
        jobs = new_campaign(
            store, "jobs", costs={"a": {"usd": 1, "s": 2}, "b": {"usd": 2, "s": (0, 3)}}, budget={"usd": 40, "s": 60}
        )
        chance = Random(1)
        for ads in (plain.acting_as("worker-7"), jobs):
            for number in range(12):
                pulls = ads.ask(n=2, key=f"k{number}")
                clock.advance(chance.choice([1, 25]))
                for pull in pulls:
                    if chance.random() < 0.7 and pull in ads.pending:
                        ads.tell(pull, chance.random(), {"s": 1} if pull.arm == "b" and pull.costs else None)
        shown = {name: shown_by(store.open(name)) for name in NAMES}
        for file in ("a.db", "a.db-wal"):
            shutil.copy(folder / file, folder / f"{file}.live")
    return shown


def shown_by(ads: bb.Campaign) -> tuple[object, ...]:
    """Return all that a campaign says."""
    settings = (ads.policy, ads.seed, ads.reward_range, ads.lease, ads.on_expire, ads.created, ads._settings)
    rows = list(ads.history(limit=1_000_000))  # the whole history would prove itself, and `verify` has to notice
    return (settings, ads.head, ads.money, ads.resources, ads.arms, rows, ads.is_closed)


def outcome_of_flip(folder: Path, shown: dict[str, Any], file: str, place: int, *, with_heads: bool) -> str:
    """Flip a bit of a copy of the store, and say what came of it."""
    is_log = file.endswith("-wal.live")
    copy = folder / "flipped.db"
    for part in folder.glob("flipped.db*"):
        part.unlink()
    shutil.copy(folder / ("a.db.live" if is_log else "a.db"), copy)
    data = bytearray((folder / file).read_bytes())
    data[place // 8] ^= 1 << place % 8
    (folder / "flipped.db-wal" if is_log else copy).write_bytes(data)
    try:
        with bb.open_store(f"sqlite:///{copy}", read_only=True) as store:
            for name in NAMES:
                ads = store.open(name)
                ads.verify([shown[name][1]] if with_heads else ())
                if shown_by(ads) != shown[name]:
                    return "harm unnoticed"
    except BudgetBanditsError as error:
        return f"noticed: {type(error).__name__}"
    except Exception as error:
        return f"an error that is not ours: {error!r}"
    return "harmless"


def flip(folder: Path, seed: int, count: int) -> dict[str, Counter[str]]:
    """Flip so many bits of the database and of the log; return how often what came of it."""
    chance, shown, outcomes = Random(seed), busy_store(folder), {}
    for file in ("a.db", "a.db-wal.live"):
        bits = 8 * (folder / file).stat().st_size
        outcomes[file] = Counter(
            outcome_of_flip(folder, shown, file, chance.randrange(bits), with_heads=file != "a.db")
            for _ in range(count)
        )
    return outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for file, outcomes in flip(Path(name), seed=1, count=int(sys.argv[1])).items():
            print(file, dict(outcomes.most_common()))
