"""No policy earns more than the optimum: all that can happen is played, and at each ask the best arm that is allowed.

What a learner allows depends on the costs that it was told, so it is the learner itself that is asked.
"""

import itertools
from collections.abc import Mapping
from random import Random

import pytest

import budgetbandits as bb
from budgetbandits import Empirical, Problem

pytestmark = pytest.mark.filterwarnings("ignore::budgetbandits.errors.TightBudgetWarning")

Points = list[int]  # what a pull may cost, each as likely as the others
Costs = Mapping[str, Points]  # in each resource
Budget = dict[str, int]
Told = tuple[tuple[int, tuple[int, ...]], ...]  # the arms pulled and what they cost

# Found while optima promised as many answers as mean costs allow: costs, budget, requests and mean rewards.
FOUND: list[tuple[list[Costs], Budget, int, list[float]]] = [
    ([{"x": [0, 9]}, {"x": [1, 7]}], {"x": 19}, 5, [0.84, 0.1]),
    ([{"x": [3, 8]}, {"x": [4, 8]}, {"x": [0, 7]}], {"x": 13}, 5, [1.0, 0.1, 0.0]),
    ([{"x": [2, 4]}, {"x": [3, 6]}], {"x": 12}, 4, [0.09, 0.95]),
    ([{"x": [0, 6], "y": [1]}, {"x": [4], "y": [4, 5]}], {"x": 9, "y": 9}, 4, [0.0, 1.0]),
    ([{"x": [2, 7], "y": [3, 4]}, {"x": [3, 5], "y": [0, 4]}], {"x": 15, "y": 5}, 4, [1.0, 0.01]),
    (
        [{"x": [4, 8], "y": [0]}, {"x": [1, 9], "y": [4]}, {"x": [0, 7], "y": [2]}],
        {"x": 14, "y": 14},
        4,
        [0.25, 0.56, 0],
    ),
]


class BestPlay:
    """What the best policy earns on average that knows all laws and keeps to what a learner allows."""

    def __init__(self, costs: list[Costs], budget: Budget, requests: int, means: list[float]) -> None:
        self.means, self.requests, self.budget, self.names = means, requests, budget, list(budget)
        self.outcomes = [list(itertools.product(*(arm[name] for name in self.names))) for arm in costs]
        self.ranges = {
            arm: {name: (min(points), max(points)) if len(points) > 1 else points[0] for name, points in each.items()}
            for arm, each in enumerate(costs)
        }
        self.known: dict[Told, float] = {}

    def worth(self, told: Told = ()) -> float:
        """Return what it earns from now on; in which order it was told does not matter."""
        if len(told) == self.requests:
            return 0.0
        state = tuple(sorted(told))
        if state not in self.known:
            self.known[state] = max((self.worth_of(arm, told) for arm in self.allowed(told)), default=0.0)
        return self.known[state]

    def worth_of(self, arm: int, told: Told) -> float:
        """Return what it earns if it pulls this arm now."""
        later = [self.worth((*told, (arm, prices))) for prices in self.outcomes[arm]]
        return self.means[arm] + sum(later) / len(later)

    def allowed(self, told: Told) -> list[int]:
        """Return the arms that a policy may choose after it was told these costs."""
        learner = bb.Learner(bb.recommended(), self.ranges, self.budget, (0, 1), requests=self.requests)
        for arm, prices in told:
            pull = learner.ask(arm=arm)
            assert pull
            learner.tell(pull, 0.5, cost=dict(zip(self.names, prices, strict=True)))
        player = learner._player
        now = player.now()  # with several resources it says what each arm costs, too
        costs = player.learning.arms.cost
        return [arm for arm in range(len(costs)) if costs[arm] <= now.budget_left and player.books.can_pull(arm)]


def problem_of(costs: list[Costs], means: list[float]) -> Problem:
    laws = [
        {name: Empirical(points) if len(points) > 1 else points[0] for name, points in arm.items()} for arm in costs
    ]
    return Problem(dict(enumerate(laws)), [Empirical([mean]) for mean in means], (0, 1))


@pytest.mark.parametrize(("costs", "budget", "requests", "means"), FOUND)
def test_where_one_unit_less_would_pay_for_all(
    costs: list[Costs], budget: Budget, requests: int, means: list[float]
) -> None:
    problem, most = problem_of(costs, means), BestPlay(costs, budget, requests, means).worth()
    assert 0.0 < most <= problem.fractional_optimum(budget, requests=requests) + 1e-9


@pytest.mark.parametrize("kind", ["one resource", "known costs", "random costs"])
def test_on_a_grid_of_tiny_problems(kind: str) -> None:
    chance, nearest = Random(kind), 0.0
    for _ in range(40):
        arms, requests = chance.choice([2, 3]), chance.choice([2, 3] if kind == "random costs" else [2, 3, 4])
        names = ["x"] if kind == "one resource" else ["x", "y"]
        costs: list[Costs] = [{name: some_points(chance, kind != "known costs") for name in names} for _ in range(arms)]
        budget = {name: chance.randint(1, 4 * requests) for name in names}
        means = [chance.choice([0.0, 0.1, chance.random(), 1.0]) for _ in range(arms)]
        most = BestPlay(costs, budget, requests, means).worth()
        optimum = problem_of(costs, means).fractional_optimum(budget, requests=requests)
        assert most <= optimum + 1e-9
        nearest = max(nearest, most / optimum if optimum > 0.0 else 0.0)
    assert nearest > 0.9


def some_points(chance: Random, is_random: bool) -> Points:
    """Return one or two costs; one of them is more than 0."""
    least = chance.randint(0, 4) if is_random else chance.randint(1, 5)
    return sorted({least, chance.randint(max(least, 1), 9)}) if is_random else [least]
