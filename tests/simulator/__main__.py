"""Let worlds live one after the other, each from a seed of its own, and print what was tried."""

import argparse
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress
from itertools import count
from pathlib import Path

from budgetbandits.testing import PostgresqlServer
from simulator.play import KINDS, play
from simulator.world import World

# PostgreSQL takes longer, and a disk can do more to SQLite.
SHARES = (*("log", "log", "rollback") * 10, "postgresql")


def main() -> None:
    """Read the arguments, and play."""
    parser = argparse.ArgumentParser(prog="simulator", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first world; the next one has the next seed")
    parser.add_argument("--operations", type=int, default=100_000, help="in all")
    parser.add_argument("--each", type=int, default=2_000, help="operations of a world")
    parser.add_argument("--kind", choices=KINDS, help="of all worlds; by default those of each kind in turn")
    given = parser.parse_args()
    begin, operations, faults = time.monotonic(), Counter[str](), Counter[str]()
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        server = stack.enter_context(closing(PostgresqlServer())) if can_have_server(given.kind) else None
        for seed in count(given.seed):
            kind = given.kind or SHARES[seed % len(SHARES)]
            if kind == "postgresql" and server is None:
                continue
            world = lived(kind, seed, min(given.each, given.operations - operations.total()), server)
            operations += world.counts
            faults += world.faults
            print(
                f"seed {seed} ({kind}): {world.counts.total()} operations, {world.faults.total()} faults; in all "
                f"{operations.total()} and {faults.total()} in {time.monotonic() - begin:.0f} s",
                flush=True,
            )
            if operations.total() >= given.operations:
                break
    for title, counts in (("operations", operations), ("faults", faults)):
        print(f"\n{counts.total()} {title}")
        print("\n".join(f"  {number:8} {what}" for what, number in sorted(counts.items())))
    print(f"\n0 violations in {time.monotonic() - begin:.0f} s")


def lived(kind: str, seed: int, operations: int, server: PostgresqlServer | None) -> World:
    """Return a world that has lived, in memory where there is a file system for that: nothing is synced anyway."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        return play(kind, seed, operations, Path(folder), server)


def can_have_server(kind: str | None) -> bool:
    """Tell whether there is a PostgreSQL server to be had, if one is wanted."""
    return kind in (None, "postgresql") and PostgresqlServer.binaries() is not None


if __name__ == "__main__":
    main()
