"""What was warmed up has nothing left to compile, or to load from the disk."""

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.errors import InvalidInput

# `budgetbandits.live.warm_up` is the module, whatever its package may call so.
module = import_module("budgetbandits.live.warm_up")
NOTHING_LEFT = """
from budgetbandits.simulation.engine import calls
def refuse(*arguments, **options):
    raise AssertionError(f"compiled or loaded after the warm-up: {arguments}")
calls._announcement = refuse
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_simulations_of_what_was_warmed_up_begin_at_once() -> None:
    program = (
        "import budgetbandits as bb\n"
        # Of kinds that other tests compile, too.
        "bb.warm_up({'eps-first': bb.epsilon_first(0.1), 'Thompson': bb.thompson()}, progress=False)\n"
        f"{NOTHING_LEFT}"
        "family = bb.paper_family('moderate', arms=5)\n"
        "policies = {'a': bb.epsilon_first(0.5), 'b': bb.thompson()}\n"
        "print(len(bb.simulate(family, policies, [100, 200], runs=2, trace=3)))\n"
    )
    assert run(program) == "8"


@pytest.mark.parametrize("arms", [500, 2000])
def test_the_first_ask_of_a_learner_that_was_warmed_up_does_not_wait_and_is_the_same(arms: int) -> None:
    program = (
        "import budgetbandits as bb\n"
        f"learner, other = (bb.Learner(bb.kube(), [1 + i % 7 for i in range({arms})], 1e6, (0, 1), seed=1)"
        " for _ in range(2))\n"
        "before = learner.to_json()\n"
        "bb.warm_up(learner)\n"
        "assert learner.to_json() == before\n"
        f"{NOTHING_LEFT}"
        "for _ in range(3):\n"
        "    pull = learner.ask()\n"
        "    assert pull == other.ask()\n"
        "    learner.tell(pull, 0.5)\n"
        "    other.tell(pull, 0.5)\n"
        "print(pull.id)\n"
    )
    assert run(program) == "3"


def test_by_default_the_recommended_policy_and_those_of_the_paper_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[object] = []
    finished: list[int] = []
    monkeypatch.setattr(module, "simulate", lambda problem, policy, *_, **options: played.append(policy))
    monkeypatch.setattr(module, "_warm_up_optimum", lambda: None)
    bb.warm_up(progress=finished.append)
    assert played == [bb.recommended(), bb.kube(), bb.fractional_kube(), bb.epsilon_first(0.1)]
    assert finished == [1, 1, 1, 1]


def test_a_problem_may_be_given_and_any_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[tuple[object, object]] = []
    monkeypatch.setattr(module, "simulate", lambda problem, policy, *_, **options: played.append((problem, policy)))
    monkeypatch.setattr(module, "_warm_up_optimum", lambda: None)
    family = bb.paper_family("moderate", arms=5)
    bb.warm_up([bb.kube(), bb.thompson()], family, progress=False)
    assert played == [(family, bb.kube()), (family, bb.thompson())]


def test_what_is_no_policy_is_refused() -> None:
    wrong: Any = {"KUBE": "kube"}
    with pytest.raises(InvalidInput, match="'kube' cannot be compiled: give policies such as kube"):
        bb.warm_up(wrong)
