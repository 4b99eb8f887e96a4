"""Arms that cost nothing, which there may be where there is a number of requests; and budgets of nothing, never."""

from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.errors import InvalidAmount, InvalidInput
from budgetbandits.studies.own_study.study_file import read

REWARDS = [bb.Bernoulli(0.25), bb.Bernoulli(0.75)]
FREE = bb.Problem({"a": 0, "b": 1}, REWARDS)
FREE_IN_ALL = bb.Problem({"a": {"x": 0, "y": 0}, "b": {"x": 1, "y": 2}}, REWARDS)
STUDY = """
seed = 1
runs = 2
budgets = [5]
{requests}
[[arms]]
name = "a"
cost = 0
reward = {{ law = "bernoulli", probability = 0.25 }}
[[arms]]
name = "b"
cost = 1
reward = {{ law = "bernoulli", probability = 0.75 }}
[policies.pacer]
policy = "pacer"
"""


@pytest.mark.parametrize(
    ("problem", "policy"),
    # Those that other tests have compiled already.
    [(FREE, bb.recommended()), (FREE_IN_ALL, bb.policies.pacer())],
    ids=["one resource", "two"],
)
def test_it_answers_what_the_budget_does_not_pay(problem: bb.Problem, policy: bb.Policy) -> None:
    assert_it_answers_all(problem, policy)


@pytest.mark.usefixtures("in_python")
def test_a_pacer_does_so_with_one_resource() -> None:
    assert_it_answers_all(FREE, bb.policies.pacer())


def assert_it_answers_all(problem: bb.Problem, policy: bb.Policy) -> None:
    budget = 6 if problem is FREE_IN_ALL else 3
    assert problem.optimum(budget, requests=10) == pytest.approx(3 * 0.75 + 7 * 0.25)
    assert problem.fractional_optimum(budget, requests=10) == pytest.approx(3 * 0.75 + 7 * 0.25)
    runs = bb.simulate(problem, policy, budget, runs=2, seed=3, requests=10)
    for row in runs.rows():
        learner = bb.Learner.for_problem(problem, policy, budget, 3, run=row["run"], requests=10)
        done = {"a": 0, "b": 0}
        while pull := learner.ask():
            learner.tell(pull, problem.reward(pull.arm, done[str(pull.arm)], seed=3, run=row["run"]))
            done[str(pull.arm)] += 1
        assert (row["pulls"], row["reward"]) == (learner.pulls, learner.reward_total) == (10, learner.reward_total)


@pytest.mark.parametrize("problem", [FREE, FREE_IN_ALL], ids=["one resource", "two"])
def test_without_requests_it_would_be_pulled_for_ever(problem: bb.Problem) -> None:
    message = "cost of arm 'a' is 0: a cost must be greater than 0; with a number of requests it may be 0"
    message = message if problem is FREE else "arm 'a' costs nothing in 'x', 'y': such an arm would be pulled for ever"
    with pytest.raises(InvalidAmount, match=message):
        problem.optimum(3)
    with pytest.raises(InvalidAmount, match=message):
        problem.fractional_optimum(3)
    with pytest.raises(InvalidAmount, match=message):
        bb.Learner.for_problem(problem, bb.kube(), 3)
    numbered = message.replace("arm 'a'", "arm 0")
    with pytest.raises(InvalidAmount, match=numbered):
        bb.simulate(problem, bb.kube(), 3, runs=1)


def test_it_has_no_density() -> None:
    with pytest.raises(InvalidInput, match="arm 'a' costs nothing, and has no density"):
        _ = FREE.densities


def test_a_study_file_has_free_arms_if_it_has_requests(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(STUDY.format(requests="requests = 20"))
    assert read(file).study.cases
    file.write_text(STUDY.format(requests=""))
    with pytest.raises(InvalidInput, match=r"arms\['a'\].cost is 0: a cost must be greater than 0; with a number of"):
        read(file)


@pytest.mark.parametrize("budget", [0, "0", 0.0])
def test_a_budget_of_nothing_is_refused(tmp_path: Path, budget: Any) -> None:
    message = f"budget is {budget}: a budget must be greater than 0, and finite"
    with pytest.raises(InvalidAmount, match=message):
        bb.Learner(bb.kube(), {"a": 1}, budget, (0, 1))
    url = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(url) as store, pytest.raises(InvalidAmount, match=message):
        store.create("ads", policy=bb.kube(), costs={"a": 1}, budget=budget, reward_range=(0, 1))
    with pytest.raises(InvalidAmount, match="budget is 0: a budget must be greater than 0, and finite"):
        bb.simulate(bb.Problem({"a": 1}, [bb.Bernoulli(0.5)]), bb.kube(), budget, runs=1)


def test_so_it_is_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(STUDY.format(requests="requests = 20").replace("budgets = [5]", "budgets = [0]"))
    assert main(["simulate", str(file), "--out", str(tmp_path / "out")]) == 2
    assert "budgets[0] is 0: it must be greater than 0" in capsys.readouterr().err
