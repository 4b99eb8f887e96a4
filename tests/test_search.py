"""The search for problems on which a policy does badly: what it draws, what it finds, and the file that it leaves."""

import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.errors import InvalidInput
from budgetbandits.studies.leaderboard.run import contest
from budgetbandits.studies.leaderboard.search import Candidate, Found, Limits, found_list, search
from budgetbandits.studies.leaderboard.suite import read_suite
from budgetbandits.studies.study import Case

LIMITS = Limits(arms=(2, 4), cost_ratio=30.0, passes=(0.5, 20.0))
BAD: tuple[str, bb.Policy] = ("all at first", bb.epsilon_first(0.9, exploit=bb.oracles.Fractional()))
GOOD: dict[str, bb.Policy] = {"KUBE": bb.kube(0.1), "greedy": bb.kube(0.001)}


def test_what_is_drawn_and_changed_keeps_within_the_limits() -> None:
    chance = Random(1)
    candidate = Candidate.drawn(chance, LIMITS)
    seen: set[int] = set()
    for _ in range(500):
        candidate = candidate.changed(chance) if chance.random() < 0.9 else Candidate.drawn(chance, LIMITS)
        problem = candidate.problem()
        seen.add(len(problem))
        assert 2 <= len(problem) <= 4
        assert 1 <= problem.cost_min <= problem.cost_max <= 30
        assert 0.499 <= candidate.budget / problem.costs.sum() <= 20.01  # four digits are kept
        assert problem.reward_range == (0, 1)
        assert all(0 < mean < 1 for mean in problem.means)
    assert seen == {2, 3, 4}


@pytest.mark.usefixtures("in_python")
def test_a_search_finds_what_a_bad_policy_does_badly_and_the_same_again() -> None:
    def look(seed: int) -> list[tuple[Candidate, Found]]:
        return search(BAD, GOOD, 24, limits=LIMITS, runs=2, seed=seed)

    found = look(3)
    assert len(found) == 4
    assert found == look(3) != look(4)
    for candidate, result in found:
        assert result.arms == len(candidate.arms)
        assert result.rival in GOOD
        assert result.excess == pytest.approx(result.loss - result.rival_loss)
    excess = [result.excess for _, result in found]
    assert excess == sorted(excess, reverse=True)
    assert excess[0] > 0.2  # a budget of which nine tenths are for trying


@pytest.mark.usefixtures("in_python")
def test_what_is_found_is_told_as_soon_as_it_is_and_only_gets_worse() -> None:
    told: list[list[float]] = []
    search(
        BAD,
        GOOD,
        16,
        limits=LIMITS,
        runs=1,
        found=lambda worst: told.append([result.excess for _, result in worst]),
    )
    assert len(told[0]) == 1
    assert len(told[-1]) == 4
    for before, after in itertools.pairwise(told[3:]):
        assert sum(old < new for old, new in zip(before, after, strict=True)) == 1


@pytest.mark.usefixtures("in_python")
def test_the_file_is_a_list_that_can_be_played(tmp_path: Path) -> None:
    found = search(BAD, GOOD, 6, limits=LIMITS, runs=1, seed=9)
    file = tmp_path / "found.toml"
    file.write_text(found_list(BAD[0], found, 9), encoding="utf-8")
    suite = read_suite(file)
    assert suite.policies == read_suite().policies
    cases = contest(suite).study.cases
    assert len(cases) == len(found)
    for (candidate, result), case in zip(found, cases.values(), strict=True):
        assert case.budgets == (result.budget,)
        problem = candidate.problem()
        assert isinstance(case.source, bb.families.Shuffled)
        assert case.source.of.rewards == problem.rewards
        assert case.source.of.costs.tolist() == problem.costs.tolist()
    board = bb.compare(GOOD, {"found": next(iter(cases.values())).source}, [20.0], runs=1, seed=1)
    assert {cell.policy for cell in board.cells} >= set(GOOD)


@pytest.mark.usefixtures("in_python")
def test_the_command_writes_the_file_and_says_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["--search", "5", "--policy", "eps-first .05", "--rivals", "KUBE, width 1/40", "--arms", "2", "3"]
    assert main(["compare", *given, "--passes", "1", "5", "--runs", "2", "--out", "out", "--no-progress"]) == 0
    printed = capsys.readouterr().out
    assert "What eps-first .05 and the best rival lose" in printed
    assert "KUBE, width 1/40" in printed
    assert len(read_suite(tmp_path / "out" / "found.toml").problems) == 4


@pytest.mark.usefixtures("in_python")
def test_an_interrupted_search_leaves_what_it_has_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from budgetbandits.studies.leaderboard import search as searching

    played = 0

    def interrupted(*arguments: Any, **options: Any) -> bb.Runs:
        nonlocal played
        played += 1
        assert isinstance(arguments[0], bb.families.Shuffled)  # no order of the arms may suit a rival
        if played == 3:
            raise KeyboardInterrupt
        return bb.simulate(*arguments, **options)

    monkeypatch.setattr(searching, "simulate", interrupted)
    given = ["--search", "50", "--rivals", "KUBE, width 1/40", "--arms", "2", "3", "--passes", "1", "2", "--runs", "1"]
    assert main(["compare", *given, "--out", str(tmp_path / "out"), "--no-progress"]) == 130
    assert len(read_suite(tmp_path / "out" / "found.toml").problems) == 2


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"arms": (1, 3)}, r"arms is \(1, 3\): give the fewest and the most, 2 or more"),
        ({"arms": (4, 3)}, r"arms is \(4, 3\): give the fewest and the most"),
        ({"cost_ratio": 0.5}, "cost_ratio is 0.5: it must be 1 or more, and finite"),
        ({"passes": (0, 3)}, r"passes is \(0, 3\): give the least and the greatest, above 0"),
    ],
)
def test_limits_that_cannot_be(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Limits(**limits)


def test_a_search_without_rivals_and_limits_without_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInput, match="there are no rivals"):
        search(BAD, {}, 3)
    assert main(["compare", "--arms", "2", "3"]) == 2
    assert "--arms goes with --search: say how many problems to try" in capsys.readouterr().err


def test_arms_of_a_list_are_checked_like_those_of_a_study(tmp_path: Path) -> None:
    file = tmp_path / "list.toml"
    file.write_text('[problems.mine]\narms = [{ name = "a", cost = -1, reward = { law = "bernoulli" } }]\n')
    with pytest.raises(InvalidInput, match=r"problems.mine.arms\['a'\].cost is -1"):
        read_suite(file)


def test_arms_of_a_list_may_come_in_another_order_in_each_run(tmp_path: Path) -> None:
    file = tmp_path / "list.toml"
    arms = "arms = [{ name = 'a', cost = 1, reward = { law = 'bernoulli', probability = 0.5 } }]\n"
    file.write_text(f"[problems.mine]\nshuffled = true\n{arms}")
    mine = read_suite(file).problems["mine"]
    assert isinstance(mine, bb.families.Shuffled)
    plain, moved = Case.of(mine.of).identity(), Case.of(mine).identity()
    assert moved == plain | {"shuffled": True}
    file.write_text(f"[problems.mine]\nshuffled = 1\n{arms}")
    with pytest.raises(InvalidInput, match=r"problems.mine.shuffled is 1"):
        read_suite(file)
