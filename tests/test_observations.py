"""A problem from a CSV file: what it means, and what a mistake in it is told."""

from pathlib import Path

import pytest

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.observations import problem_from_outcomes

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "seen.csv"


def test_arms_pay_what_was_observed_and_cost_what_they_cost(file: Path) -> None:
    file.write_text("when,reward,arm,cost\n1,0.5,b,0.30\n2,0,a,1\n3,1,b, 0.3\n4,0.25,a,1.00\n", encoding="utf-8")
    problem = bb.problem_from_csv(file)
    assert problem.names == ["b", "a"]
    assert problem.costs.tolist() == [0.3, 1.0]
    assert problem.rewards == (bb.Empirical([0.5, 1]), bb.Empirical([0, 0.25]))
    assert problem.reward_range == (0, 1)
    assert problem.price_list(3).prices.tolist() == [3.0, 10.0]  # money stays exact
    assert bb.problem_from_csv(file, (0, 5)).reward_range == (0, 5)


def test_a_mark_at_the_beginning_and_quotes_are_no_matter(file: Path) -> None:
    file.write_bytes('\ufeffarm,cost,reward\r\n"a, or b",2,1\r\n"a, or b",2,0\r\n'.encode())
    assert bb.problem_from_csv(file).names == ["a, or b"]


def test_an_arm_that_costs_now_this_and_now_that_has_a_random_cost(file: Path) -> None:
    file.write_text("arm,cost,reward\na,1,1\na,3,0\nb,2,1\nb,2.0,0\n", encoding="utf-8")
    problem = bb.problem_from_csv(file)
    assert problem.cost_laws == (bb.Empirical([1, 3]), None)
    assert problem.costs.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the column 'arm' is missing: the first line must be arm,cost,reward, and it is empty"),
        ("arm,reward\na,1\n", "the column 'cost' is missing: the first line must be arm,cost,reward, and it is arm,"),
        ("arm,cost,reward,cost\na,1,1,1\n", "the column 'cost' is there more than once"),
        ("arm,cost,reward\n", "there are no observations: give at least one line"),
        ("arm,cost,reward\na,1\n", "line 2 has no reward: give all three in every line"),
        ("arm,cost,reward\na,1,1\n,1,1\n", "line 3 has no arm"),
        ("arm,cost,reward\na,1,much\n", "line 2: reward is 'much': give a number"),
        ("arm,cost,reward\na,1,nan\n", "line 2: reward is 'nan': give a number"),
        ("arm,cost,reward\na,1,-0.5\n", "line 2: reward is -0.5: give a finite number of 0 or more"),
        ("arm,cost,reward\na,1,inf\n", "line 2: reward is Infinity: give a finite number of 0 or more"),
        ("arm,cost,reward\na,cheap,1\n", "line 2: cost is 'cheap': give a number"),
        ("arm,cost,reward\na,0.05..0.40,1\n", "line 2: cost is the range 0.05..0.40: give what this pull cost"),
        ("arm,cost,reward\na,1,1\na,-2,1\n", "line 3: cost is -2: give a finite number of 0 or more"),
        ("arm,cost,reward\na,1,1\nb,1,1\n", "all arms pay 1.0 and nothing else: declare a wider reward_range"),
        (
            "arm,cost,reward\na,1,5,0,3\n",
            "line 2 has 5 fields, the header 3: write decimals with a point, 1.5 and not 1,5, and put text",
        ),
        ("arm,cost,reward\na,1,1\na,1,1,\n", "line 3 has 4 fields, the header 3"),
        ("arm,cost,reward\na,1_0,1\n", "line 2: cost is '1_0': give a number"),
        ('arm,cost,reward\n"a,1,1\n', "this is not CSV in UTF-8 (unexpected end of data): save the table in that form"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(text: str, message: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        bb.problem_from_csv(file)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_an_arm_that_was_free_is_for_requests_only(file: Path) -> None:
    file.write_text("arm,cost,reward\na,0,1\na,0,0\n", encoding="utf-8")
    problem = bb.problem_from_csv(file)
    with pytest.raises(
        InvalidInput, match="cost of arm 0 is 0: a cost must be greater than 0; with a number of requests it"
    ):
        bb.simulate(problem, bb.kube(), 10, runs=1)
    learner = bb.Learner.for_problem(problem, bb.kube(), 10, requests=3)
    assert len(learner.ask(n=9)) == 3


def test_a_file_that_cannot_be_read(file: Path) -> None:
    with pytest.raises(InvalidInput, match=r"seen.csv: the file cannot be read \(No such file or directory\)"):
        bb.problem_from_csv(file)
    file.write_bytes(b"arm,cost,reward\n\xff,1,1\n")
    with pytest.raises(InvalidInput, match=r"seen.csv: this is not CSV in UTF-8 \('utf-8' codec can't decode"):
        bb.problem_from_csv(file)


def test_the_example_is_a_good_one() -> None:
    problem = bb.problem_from_csv(EXAMPLES / "observations.csv", (0, 1))
    assert problem.names == ["small", "medium", "large"]
    assert all(len(law.values) == 40 for law in problem.rewards if isinstance(law, bb.Empirical))


def test_counted_observations_are_as_many_single_ones(file: Path) -> None:
    file.write_text("arm,cost,reward,count\na,0.30,0,3\nb,1,0.5,2\na,0.3,1,1\nb,1,0.25,1\n", encoding="utf-8")
    problem = problem_from_outcomes(file)
    assert problem.names == ["a", "b"]
    assert problem.costs.tolist() == [0.3, 1.0]
    assert problem.rewards == (bb.Bernoulli(0.25), bb.Empirical([0.25, 0.5, 0.5]))
    assert problem.reward_range == (0, 1)
    assert problem.price_list(3).prices.tolist() == [3.0, 10.0]
    assert problem_from_outcomes(file, (0, 5)).reward_range == (0, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "arm,cost,reward\na,1,1\n",
            "the column 'count' is missing: the first line must be arm,cost,reward,count",
        ),
        ("arm,cost,reward,count\n", "there are no observations: give at least one line"),
        ("arm,cost,reward,count\na,1,1,\n", "line 2 has no count: give all four in every line"),
        ("arm,cost,reward,count\na,1,1,0\n", "line 2: count is '0': give a whole number from 1 to 1000000000"),
        ("arm,cost,reward,count\na,1,1,2.5\n", "line 2: count is '2.5': give a whole number"),
        ("arm,cost,reward,count\na,1,1,-2\n", "line 2: count is '-2': give a whole number"),
        ("arm,cost,reward,count\na,1,1,2\na,3,0,1\n", "arm 'a' costs 1 and 3: give the same cost in all of its lines"),
    ],
)
def test_a_mistake_in_counted_observations_is_named(text: str, message: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        problem_from_outcomes(file)
    assert str(caught.value).startswith(f"{file}: {message}")
