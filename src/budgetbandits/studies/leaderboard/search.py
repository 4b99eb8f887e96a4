"""The problems on which a policy does worst beside its rivals, found by trying many.

A problem is drawn at random, or made of one of the worst so far by changes: to a cost, a mean, how rewards vary, the
number of arms, the budget. The worse of old and new is dropped. Several such lines run side by side and know nothing of
each other, so that they may find different things. Arms come in another order in each run, the same for all policies:
otherwise orders are found that suit a rival.

What a few runs say of the worst of many is mostly luck: each problem that is found is played again with other seeds,
and these figures are what is told of it.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from budgetbandits.core.progress import advancing
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import Policy
from budgetbandits.problems.families import Shuffled
from budgetbandits.problems.laws import Bernoulli, SteadyLaw, Uniform
from budgetbandits.problems.problem import Problem
from budgetbandits.simulation.simulate import simulate
from budgetbandits.studies.keys import shown
from budgetbandits.studies.study import Machine

__all__ = ["Candidate", "Found", "Limits", "found_list", "search", "table_of"]

LINES: Final = 4
"""So many problems are looked for side by side."""
_SURVIVORS: Final = 6  # of a line, from which new problems are made
_FRESH: Final = 0.25  # of the problems are drawn anew
_TIMES_TO_CONFIRM: Final = 8  # as many runs as in the search
_DIGITS: Final = 4
_LEAST_SPREAD: Final = 0.1  # of the widest: what the digits show
_MEAN_POWER: Final = 3.0  # of a uniform number: small means are as interesting as large ones
_SEEDS_APART: Final = 1_000_000  # between those of the search and those of the confirmation


@dataclass(frozen=True)
class Limits:
    """Between which limits problems are looked for.

    Attributes
    ----------
    arms
        The least and the greatest number of arms.
    cost_ratio
        The greatest cost over the least, at most.
    passes
        How many times the sum of all costs the budget is, at least and at most.
    """

    arms: tuple[int, int] = (2, 20)
    cost_ratio: float = 100.0
    passes: tuple[float, float] = (1.0, 100.0)

    def __post_init__(self) -> None:
        fewest, most = self.arms
        if not 2 <= fewest <= most:
            raise InvalidInput(f"arms is {shown(self.arms)}: give the fewest and the most, 2 or more")
        if not 1 <= self.cost_ratio < math.inf:
            raise InvalidInput(f"cost_ratio is {shown(self.cost_ratio)}: it must be 1 or more, and finite")
        least, greatest = self.passes
        if not 0 < least <= greatest < math.inf:
            raise InvalidInput(f"passes is {shown(self.passes)}: give the least and the greatest, above 0")


@dataclass(frozen=True)
class ArmDraft:
    """An arm as the search changes it: numbers from 0 to 1.

    Attributes
    ----------
    cost
        On a logarithmic axis, between the limits.
    mean
        The cubic root of the mean reward.
    spread
        Up to a half, rewards lie evenly in a range about the mean, which widens to the widest that there is. Beyond,
        they are 0 or 1.
    """

    cost: float
    mean: float
    spread: float

    def law(self) -> SteadyLaw:
        """Return the law of its rewards."""
        mean = _rounded(min(max(self.mean**_MEAN_POWER, 0.001), 0.99))
        if self.spread > 0.5:
            return Bernoulli(mean)
        reach = max(2.0 * self.spread, _LEAST_SPREAD) * min(mean, 1.0 - mean)
        return Uniform(_rounded(max(mean - reach, 0.0)), _rounded(min(mean + reach, 1.0)))


@dataclass(frozen=True)
class Candidate:
    """A problem with a budget, as the search makes it.

    Attributes
    ----------
    arms
        The arms.
    passes
        The budget, on a logarithmic axis between the limits, from 0 to 1.
    limits
        What the numbers are between.
    """

    arms: tuple[ArmDraft, ...]
    passes: float
    limits: Limits

    @classmethod
    def drawn(cls, chance: Random, limits: Limits) -> "Candidate":
        """Draw one; in some all arms are alike but one, as needles and near ties are."""
        count = chance.randint(*limits.arms)
        usual, is_alike = _drawn_arm(chance), chance.random() < 0.5
        arms = [usual if is_alike else _drawn_arm(chance) for _ in range(count - 1)]
        arms.insert(chance.randrange(count), _drawn_arm(chance))
        return cls(tuple(arms), chance.random(), limits)

    def changed(self, chance: Random) -> "Candidate":
        """Return one that differs a little."""
        arms = list(self.arms)
        kind, place = chance.randrange(6), chance.randrange(len(arms))
        fewest, most = self.limits.arms
        if kind == 0:
            return replace(self, passes=_moved(self.passes, chance))
        if kind == 1 and len(arms) < most:
            arms[place:place] = [chance.choice(arms)] * chance.randint(1, most - len(arms))
        elif kind == 2 and len(arms) > fewest:
            del arms[place]
        elif kind == 3:
            copied = chance.choice(arms)
            arms = [copied if chance.random() < 0.5 else arm for arm in arms]
            arms[place] = self.arms[place]
        else:
            arms[place] = _moved_arm(arms[place], chance)
        return replace(self, arms=tuple(arms))

    def problem(self) -> Problem:
        """Return the problem."""
        return Problem({name: self._cost(arm) for name, arm in self._named()}, [arm.law() for arm in self.arms], (0, 1))

    @property
    def budget(self) -> float:
        """The budget."""
        least, greatest = self.limits.passes
        passes = least * (greatest / least) ** self.passes
        return _rounded(passes * math.fsum(self._cost(arm) for arm in self.arms))

    def _cost(self, arm: ArmDraft) -> float:
        return _rounded(self.limits.cost_ratio**arm.cost)

    def _named(self) -> list[tuple[str, ArmDraft]]:
        return [(str(number), arm) for number, arm in enumerate(self.arms)]


def _drawn_arm(chance: Random) -> ArmDraft:
    return ArmDraft(chance.random(), chance.random(), chance.random())


def _moved_arm(arm: ArmDraft, chance: Random) -> ArmDraft:
    which = chance.randrange(3)
    if which == 0:
        return replace(arm, cost=_moved(arm.cost, chance))
    if which == 1:
        return replace(arm, mean=_moved(arm.mean, chance))
    return replace(arm, spread=_moved(arm.spread, chance))


def _moved(number: float, chance: Random) -> float:
    """Return a number from 0 to 1 that is a step away, a small one or a large one."""
    step = chance.choice([0.05, 0.3])
    return min(max(chance.gauss(number, step), 0.0), 1.0)


def _rounded(number: float) -> float:
    """Return a number to a few digits, so that a file shows all of it."""
    return float(f"{number:.{_DIGITS}g}")


@dataclass(frozen=True, slots=True)
class Found:
    """A problem on which a policy does worse than a rival.

    Attributes
    ----------
    arms, budget
        How many arms, and the budget.
    rival
        The rival that loses least there.
    loss, rival_loss
        What the policy and the rival lose on average, as a share of the fractional optimum.
    excess
        The difference: what the search makes as large as it can.
    """

    arms: int
    budget: float
    rival: str
    loss: float
    rival_loss: float
    excess: float


@dataclass(frozen=True)
class _Contest:
    """Who plays, and how often."""

    policy: tuple[str, Policy]
    rivals: Mapping[str, Policy]
    runs: int
    seed: int
    workers: int | None

    def result(self, candidate: Candidate) -> Found:
        """Return what comes of a problem."""
        name, policy = self.policy
        budget = candidate.budget
        played = simulate(
            Shuffled(candidate.problem()),
            {name: policy, **self.rivals},
            [budget],
            runs=self.runs,
            seed=self.seed,
            workers=self.workers,
            exact_optimum=False,
            progress=False,
        )
        optimum = float(played["fractional_optimum"][0])
        losses = {
            each: 1.0 - float(played.of("expected_reward", each, budget).mean()) / optimum for each in played.policies
        }
        rival = min(self.rivals, key=lambda each: losses[each])
        mine, theirs = losses[name], losses[rival]
        return Found(len(candidate.arms), budget, rival, mine, theirs, mine - theirs)


def search(
    policy: tuple[str, Policy],
    rivals: Mapping[str, Policy],
    tries: int,
    *,
    limits: Limits | None = None,
    runs: int = 20,
    seed: int = 0,
    machine: Machine | None = None,
    found: Callable[[Sequence[tuple[Candidate, Found]]], object] = lambda _: None,
) -> list[tuple[Candidate, Found]]:
    """Look for problems on which a policy does worst beside its rivals.

    Parameters
    ----------
    policy
        The policy, with its name.
    rivals
        The policies that it is compared with, by name: with the best of them on each problem.
    tries
        How many problems to try in all.
    limits
        What problems may be like.
    runs, seed
        How often each is played, and what decides all random numbers.
    machine
        Where to play.
    found
        Is told, whenever there is a new worst problem, of the worst of each line so far: what an interruption leaves.

    Returns
    -------
    list of tuple
        The worst problem of each line with what came of it in other runs than those of the search, the worst first.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> [(candidate, worst), *_] = search(
    ...     ("eps-first", bb.epsilon_first(0.5)), {"KUBE": bb.kube(0.1)}, tries=40, limits=Limits(arms=(2, 3)), runs=4
    ... )
    >>> worst.rival, worst.excess > 0.1, candidate.problem().reward_range
    ('KUBE', True, (0.0, 1.0))
    """
    if not rivals:
        raise InvalidInput("there are no rivals: give at least one policy to compare with")
    machine = machine or Machine()
    contest = _Contest(policy, rivals, runs, seed, machine.workers)
    lines: list[list[tuple[Candidate, Found]]] = [[] for _ in range(min(LINES, tries))]
    chances = [Random(f"{seed}/{number}") for number in range(len(lines))]
    with advancing(tries, machine.progress, doing="searching", unit="problem") as advance:
        for number in range(tries):
            line, chance = lines[number % len(lines)], chances[number % len(lines)]
            candidate = _next(line, chance, limits or Limits())
            result = contest.result(candidate)
            is_worst = not line or result.excess > line[0][1].excess
            line.append((candidate, result))
            line.sort(key=lambda pair: -pair[1].excess)
            del line[_SURVIVORS:]
            if is_worst:
                found(_worst(lines))
            advance(1)
    again = replace(contest, runs=_TIMES_TO_CONFIRM * runs, seed=seed + _SEEDS_APART)
    confirmed = [(candidate, again.result(candidate)) for candidate, _ in _worst(lines)]
    return sorted(confirmed, key=lambda pair: -pair[1].excess)


def _next(line: Sequence[tuple[Candidate, Found]], chance: Random, limits: Limits) -> Candidate:
    if len(line) < _SURVIVORS or chance.random() < _FRESH:
        return Candidate.drawn(chance, limits)
    candidate = chance.choice(line)[0]
    for _ in range(chance.choice([1, 1, 2, 4])):
        candidate = candidate.changed(chance)
    return candidate


def _worst(lines: Sequence[Sequence[tuple[Candidate, Found]]]) -> list[tuple[Candidate, Found]]:
    return [line[0] for line in lines if line]


def table_of(found: Sequence[tuple[Candidate, Found]]) -> Table[Found]:
    """Return what came of the problems, for people."""
    return Table(result for _, result in found)


def found_list(policy: str, found: Sequence[tuple[Candidate, Found]], seed: int) -> str:
    """Return a list of what was found, as TOML: `budgetbandits compare --policies` plays all policies on it.

    Parameters
    ----------
    policy
        The name of the policy that does badly there.
    found
        The problems.
    seed
        That of the search; the list has another, with which nothing was chosen.
    """
    parts = [
        f"# Problems on which {policy} does worse than others, found by a search. All policies play them by\n"
        "#     budgetbandits compare --policies found.toml",
        f"[presets.quick]\nruns = 100\nseed = {seed + 2 * _SEEDS_APART}\nbudgets = [1000]",
    ]
    for number, (candidate, result) in enumerate(found, start=1):
        name = f"found {number}: {result.excess:.1%} more than {result.rival}"
        problem = candidate.problem()
        arms = [
            f"    {{ name = {json.dumps(arm)}, cost = {cost!r}, reward = {_law_text(law)} }},"
            for arm, cost, law in zip(problem.names, problem.costs.tolist(), problem.rewards, strict=True)
        ]
        lines = [
            f"[problems.{json.dumps(name)}]",
            f"budgets = [{result.budget!r}]",
            "reward_range = [0, 1]",
            "shuffled = true",
            "arms = [",
        ]
        parts.append("\n".join([*lines, *arms, "]"]))
    return "\n\n".join(parts) + "\n"


def _law_text(law: object) -> str:
    if isinstance(law, Bernoulli):
        return f'{{ law = "bernoulli", probability = {law.probability!r} }}'
    assert isinstance(law, Uniform)
    return f'{{ law = "uniform", low = {law.low!r}, high = {law.high!r} }}'
