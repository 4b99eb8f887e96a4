"""Machine code on disk is used again if nothing has changed, and never if any source has."""

import dis
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.compiled import MARKED, Way
from budgetbandits.core.specs import Spec
from budgetbandits.policies import Arms, Now
from budgetbandits.simulation.engine.calls import COMPILE_TIME, SteadyCall
from budgetbandits.simulation.engine.compiler import compile_entry
from states import arms_of, now_of

PACKAGE = Path(bb.__file__).parent
OWN_KERNEL = (
    "from budgetbandits.policies.ceilings import surely_drawn\n"
    "from budgetbandits.simulation.engine.compiler import compile_entry\n"
    "entry = compile_entry(surely_drawn, frozenset())\n"
    "print(entry(10.0, 3.0, 5, 2.0, 1.0), sum(entry.stats.cache_hits.values()))\n"
)
USERS_INDEX = (
    "import mine\n"
    "from budgetbandits.core.specs import classes_of\n"
    "from budgetbandits.simulation.engine.compiler import compile_entry\n"
    "entry = compile_entry(mine.slope_of, frozenset(classes_of(mine.Steep())))\n"
    "print(entry(mine.Steep(), 4), sum(entry.stats.cache_hits.values()))\n"
)
USERS_MODULE = (
    "from dataclasses import dataclass\n"
    "import budgetbandits as bb\n"
    "from budgetbandits.core.compiled import allocating\n"
    "@dataclass(frozen=True)\n"
    "class Steep(bb.indices.LinearIndex):\n"
    "    def slope(self, pulls, reward_span):\n"
    "        return 2.0 * pulls\n"
    "@allocating\n"
    "def slope_of(index, pulls):\n"
    "    return index.slope(pulls, 1.0)\n"
)
ANNOUNCED = (
    "from budgetbandits import knapsack\n"
    "from budgetbandits.simulation.engine.calls import call, numbered\n"
    "for _ in range(2):\n"
    "    assert call(knapsack.times, (), 10.0, 3.0) == 3\n"
)
ANNOUNCED_WITH_ITS_NUMBER = (
    "from budgetbandits.policies.ceilings import surely_drawn\n"
    "with numbered(2, 3):\n"
    "    assert not call(surely_drawn, (), 10.0, 3.0, 5, 2.0, 1.0)\n"
)
ANNOUNCED_OF_A_SCRIPT = USERS_MODULE + "assert call(slope_of, (Steep(),), Steep(), 4) == 8.0\n"


class Place:
    """A copy of the package, with a cache of its own, that can be edited and run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        shutil.copytree(PACKAGE, folder / "budgetbandits", ignore=shutil.ignore_patterns("*.nb[ci]"))

    def edit(self, file: str, old: str, new: str) -> None:
        text = (self.folder / file).read_text(encoding="utf-8")
        assert old in text
        (self.folder / file).write_text(text.replace(old, new), encoding="utf-8")

    def run(self, program: str) -> str:
        """Return what a program prints."""
        return self._done(program).stdout.strip()

    def warnings_of(self, program: str) -> str:
        """Return what a program says on standard error, which is no terminal."""
        return self._done(program).stderr.strip()

    def _done(self, program: str) -> "subprocess.CompletedProcess[str]":
        surroundings = {"PYTHONPATH": str(self.folder), "NUMBA_CACHE_DIR": str(self.cache)}
        return subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | surroundings,
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder,
        )


def test_machine_code_of_older_sources_is_never_used_and_a_change_above_the_engine_costs_none(tmp_path: Path) -> None:
    """Neither of the package's nor of a user's: each process says both, for to start one takes longest."""
    place, program = Place(tmp_path), OWN_KERNEL + USERS_INDEX
    (place.folder / "mine.py").write_text(USERS_MODULE, encoding="utf-8")
    assert place.run(program) == "False 0\n8.0 0"
    for file in ("live/learner.py", "simulation/simulate.py", "studies/folder.py"):
        place.edit(f"budgetbandits/{file}", "\n__all__ = ", "\n# Another line.\n__all__ = ")
    assert place.run(program) == "False 1\n8.0 1"  # a change above the engine costs nobody a compilation
    place.edit("budgetbandits/core/special.py", "\n__all__ = ", "\n# Another line.\n__all__ = ")  # what it does import
    assert place.run(program) == "False 0\n8.0 0"
    # Not in the file of the entry point, which is all that Numba itself would look at.
    place.edit("budgetbandits/policies/knapsack.py", "return round((budget - budget % cost) / cost)", "return 7")
    assert place.run(program) == "True 0\n8.0 0"
    place.edit("mine.py", "2.0 * pulls", "5.0 * pulls")
    assert place.run(program) == "True 1\n20.0 0"


def test_compilation_is_announced_with_its_time_and_what_is_on_disk_is_not(tmp_path: Path) -> None:
    """On standard error whether or not it is a terminal: a notebook's is none."""
    place, program = Place(tmp_path), ANNOUNCED + ANNOUNCED_WITH_ITS_NUMBER + ANNOUNCED_OF_A_SCRIPT
    of_a_script = (
        "budgetbandits compiles Steep(): 5 to 60 seconds, in every process, since a script or notebook cannot be cached"
    )
    assert place.warnings_of(program).splitlines() == [
        "budgetbandits compiles times: 5 to 60 seconds, the first time only",
        "budgetbandits compiles surely_drawn (policy 2 of 3): 5 to 60 seconds, the first time only",
        of_a_script,
    ]
    assert place.warnings_of(program) == of_a_script
    place.cache = tmp_path / "empty"
    logging = "import logging\nlogging.basicConfig(format='%(name)s %(levelname)s')\n"
    assert place.warnings_of(logging + ANNOUNCED) == "budgetbandits WARNING"  # in the log of a program that has one


def test_the_documentation_says_the_same_of_the_time() -> None:
    root = Path(__file__).parents[1]
    pages = [root / "docs" / name for name in ("install.md", "policies.md", "studies.md")]
    for text in (*(page.read_text(encoding="utf-8") for page in pages), bb.warm_up.__doc__ or ""):
        assert COMPILE_TIME in " ".join(text.split())


@dataclass(frozen=True)
class Plain(Spec):
    """A spec with a method of two arguments."""

    def worth(self, value: float) -> float:
        return 2.0 * value


@dataclass(frozen=True)
class Priced(Spec):
    """One whose method of that name takes three."""

    def worth(self, value: float, cost: float) -> float:
        return value / cost


_OF_OBJECTS = {"LOAD_ATTR", "LOAD_METHOD"}


def test_what_makes_no_array_asks_for_no_total_of_one_which_numba_cannot_compile_there() -> None:
    # It can, if it has compiled one for another function before: so this is not seen in a process that did.
    kernels: list[Any] = [marked.function for marked in MARKED if marked.way is not Way.ALLOCATING]
    assert len(kernels) > 100
    totals = {"min", "max", "sum", "any", "all", "copy"}
    for each in kernels:
        asked_of_objects = {step.argval for step in dis.get_instructions(each) if step.opname in _OF_OBJECTS}
        assert not asked_of_objects & totals, each.__qualname__


def test_methods_of_one_name_may_take_different_numbers_of_arguments() -> None:
    plain = compile_entry(worth_of_plain, frozenset([Plain]))
    priced = compile_entry(worth_of_priced, frozenset([Priced]))
    assert (plain(Plain(), 3.0), priced(Priced(), 3.0, 4.0)) == (6.0, 0.75)
    assert plain(Plain(), 5.0) == 10.0


@numba.njit()
def double(value: float) -> float:
    return 2.0 * value


@numba.njit()
def opposite(value: float) -> float:
    return -value


@dataclass(frozen=True)
class Called(Spec):
    """A spec that holds a compiled function."""

    by: Any

    def worth(self, value: float) -> float:
        return float(self.by(value))


@dataclass(frozen=True)
class Numbered(Spec):
    """A spec that holds a number, which may be too large for the type that whole numbers mostly have."""

    by: Any

    def worth(self, value: float) -> float:
        return float(value + self.by)


def worth_of_called(spec: Called, value: float) -> float:
    return spec.worth(value)


def worth_of_numbered(spec: Numbered, value: float) -> float:
    return spec.worth(value)


A_QUARTER: Any = Fraction(1, 4)


@dataclass(frozen=True)
class Weighed(Spec):
    """A spec with a field that is a float for compiled code, whatever it holds."""

    by: float

    def worth(self, value: float) -> float:
        return value * self.by


def worth_of_weighed(spec: Weighed, value: float) -> float:
    return spec.worth(value)


@pytest.mark.parametrize(
    ("function", "specs", "worths"),
    [
        (worth_of_weighed, [Weighed(0.5), Weighed(2**64), Weighed(A_QUARTER)], [1.5, 3 * 2.0**64, 0.75]),
        (worth_of_called, [Called(double), Called(opposite), Called(double)], [6.0, -3.0, 6.0]),
        (worth_of_numbered, [Numbered(5), Numbered(2**63), Numbered(0.5), Numbered(6)], [8.0, 2.0**63, 3.5, 9.0]),
    ],
)
def test_machine_code_is_called_for_what_it_was_compiled_for(
    function: Any, specs: list[Spec], worths: list[float]
) -> None:
    for _ in range(2):  # the second time, all of it is there
        assert [SteadyCall(function, spec)(spec, 3.0) for spec in specs] == worths


@dataclass(frozen=True)
class Listing(bb.policies.IMED):
    """A user's, which makes an array where the packaged one makes none."""

    def divergence(self, arms: Arms, arm: int, now: Now, target: float) -> float:
        return float(np.full(3, target).sum())


def evidence_of(policy: bb.policies.IMED, arms: Arms, now: Now) -> float:
    return policy.evidence(arms, 1, now, 9.0)


def test_a_users_method_may_make_arrays_in_place_of_one_that_makes_none() -> None:
    arms, now = arms_of([1, 2], [0.2, 0.4], [3, 4]), now_of(8, 50.0)
    for policy in (Listing(), bb.policies.IMED()):
        compiled = compile_entry(evidence_of, frozenset([type(policy)]))
        assert compiled(policy, arms, now) == pytest.approx(evidence_of(policy, arms, now), rel=1e-14)


def worth_of_plain(spec: Plain, value: float) -> float:
    return spec.worth(value)


def worth_of_priced(spec: Priced, value: float, cost: float) -> float:
    return spec.worth(value, cost)
