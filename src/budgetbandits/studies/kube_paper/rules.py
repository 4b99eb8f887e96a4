"""The rules by which the claims are judged: functions of the evidence that look at intervals, never at means alone.

Where a rule makes several comparisons, their intervals are widened so that all of them together hold with 95%
(Bonferroni).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from budgetbandits.analysis import bounds
from budgetbandits.analysis.growth import upper_half
from budgetbandits.analysis.intervals import mean_interval, ratio_interval
from budgetbandits.core.arrays import Floats
from budgetbandits.studies.kube_paper.evidence import (
    KUBES,
    Evidence,
    Finding,
    Kube,
    Reading,
    Verdict,
    interval_text,
    number_text,
    percent_text,
)

__all__ = [
    "Rule",
    "alike_when_homogeneous",
    "beats_every_epsilon_first",
    "below_regret_bound",
    "constant_between_4_and_7",
    "cost_of_a_step",
    "curve",
    "epsilon_first_above_curve",
    "epsilon_first_grows_faster",
    "gain_on_epsilon_first",
    "kube_gains_when_extreme",
    "kube_gains_when_moderate",
    "kubes_below_curve",
    "logarithmic",
    "pulls_within_lemma_3",
    "total_pulls_within_lemma_6",
]

Flags = NDArray[np.bool_]
Rule = Callable[[Evidence], Iterator[Finding]]

_ANALYSED: Final[dict[Kube, bounds.AnalysedPolicy]] = {"KUBE": "kube", "fractional KUBE": "fractional_kube"}

_SLACK: Final = 0.05
"""The paper gives round figures: a gain of 40% is taken as reached from 35% on, and "similar" as within 5%."""

_CONFIDENCE: Final = 0.95


def _verdict(*, holds: bool, fails: bool) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.FAILS if fails else Verdict.OPEN


def _level(comparisons: int) -> float:
    """Return the confidence that each of several intervals needs for all of them to hold together."""
    return 1 - (1 - _CONFIDENCE) / comparisons


# How the regret grows


def logarithmic(policy: Kube) -> Rule:
    """Make the rule that a policy's regret is nearer to ln B than to B^(2/3)."""

    def judge(evidence: Evidence) -> Iterator[Finding]:
        for reading in evidence.readings:
            for case in evidence.runs:
                yield _growth(evidence, case, reading.of(policy), reading.name, is_logarithmic=True)

    return judge


def epsilon_first_grows_faster(evidence: Evidence) -> Iterator[Finding]:
    """Judge whether the regret of every ε-first is nearer to B^(2/3) than to ln B."""
    for epsilon in evidence.epsilons:
        for case in evidence.runs:
            yield _growth(evidence, case, epsilon, "any", is_logarithmic=False)


def _growth(evidence: Evidence, case: str, policy: str, reading: str, *, is_logarithmic: bool) -> Finding:
    found = evidence.growth(case, policy)
    if found is None:
        text = "fewer than 3 budgets in the upper half"
        return Finding(case, reading, text, math.nan, math.nan, math.nan, Verdict.OPEN)
    nearer_to_log, nearer_to_power = found.low > 0, found.high < 0
    expected, opposite = (nearer_to_log, nearer_to_power) if is_logarithmic else (nearer_to_power, nearer_to_log)
    left = percent_text(found.logarithm.unexplained), percent_text(found.power.unexplained)
    difference = interval_text(found.advantage, found.low, found.high)
    text = f"ln B leaves {left[0]} unexplained, B^(2/3) {left[1]}: {difference} more"
    return Finding(
        case,
        reading,
        text if is_logarithmic else f"{policy}: {text}",
        found.advantage,
        found.low,
        found.high,
        _verdict(holds=expected, fails=opposite),
    )


# Who has the lower regret, and by how much


@dataclass(frozen=True)
class _Gain:
    """How much lower one regret is than a rival's, as a share of the rival's, with its interval."""

    budget: float
    rival: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return interval_text(self.value, self.low, self.high)


def _gains(evidence: Evidence, case: str, policy: str, rivals: Sequence[str]) -> list[_Gain]:
    """Compare a policy with its rivals at every budget, in intervals that hold together."""
    pairs = [(budget, rival) for budget in evidence.budgets for rival in rivals]
    gains = []
    for budget, rival in pairs:
        mine, theirs = evidence.regrets(case, policy, budget), evidence.regrets(case, rival, budget)
        ratio, low, high = ratio_interval(mine, theirs, level=_level(len(pairs)))
        gains.append(_Gain(budget, rival, 1 - ratio, 1 - high, 1 - low))
    return gains


def kube_gains_when_moderate(evidence: Evidence) -> Iterator[Finding]:
    """Judge whether KUBE's regret is lower than fractional KUBE's by up to 40% in the moderate case."""
    for reading in evidence.readings if "moderate" in evidence.runs else ():
        known = evidence.of_kubes(reading)
        yield _largest_gain(known, "moderate", reading, "KUBE", [reading.of("fractional KUBE")], 0.4)


def gain_on_epsilon_first(policy: Kube, share: float) -> Rule:
    """Make the rule that a policy's regret is lower than that of ε-first by up to a share."""

    def judge(evidence: Evidence) -> Iterator[Finding]:
        for reading in evidence.readings:
            for case in evidence.runs:
                yield _largest_gain(evidence, case, reading, policy, evidence.epsilons, share)

    return judge


def _largest_gain(
    evidence: Evidence, case: str, reading: Reading, policy: Kube, rivals: Sequence[str], share: float
) -> Finding:
    gains = _gains(evidence, case, reading.of(policy), rivals)
    needed = share - _SLACK
    verdict = _verdict(
        holds=any(gain.low > needed for gain in gains),
        fails=all(gain.high < needed for gain in gains),
    )
    # The one that decides: the surest if the gain is reached, else the one that comes nearest to it.
    shown = max(gains, key=lambda gain: gain.low if verdict is Verdict.HOLDS else gain.high)
    text = f"{shown} at B = {shown.budget:,.0f}{f' against {shown.rival}' if len(rivals) > 1 else ''}"
    remark = f"more than the paper's {percent_text(share)}" if shown.low > share + _SLACK else ""
    return Finding(case, reading.name, text, shown.value, shown.low, shown.high, verdict, remark)


def kube_gains_when_extreme(evidence: Evidence) -> Iterator[Finding]:
    """Judge whether KUBE's regret is typically lower by around 30% in the extreme case: over all budgets together."""
    for reading in evidence.readings if "extreme" in evidence.runs else ():
        known = evidence.of_kubes(reading)
        totals = [
            np.sum([known.regrets("extreme", reading.of(kube), b, per_log=True) for b in known.budgets], axis=0)
            for kube in KUBES
        ]
        ratio, ratio_low, ratio_high = ratio_interval(*totals)
        value, low, high = 1 - ratio, 1 - ratio_high, 1 - ratio_low
        verdict = _verdict(
            holds=low > 0.3 - _SLACK and high < 0.3 + _SLACK, fails=high < 0.3 - _SLACK or low > 0.3 + _SLACK
        )
        text = f"{interval_text(value, low, high)} over all budgets"
        yield Finding("extreme", reading.name, text, value, low, high, verdict)


def alike_when_homogeneous(evidence: Evidence) -> Iterator[Finding]:
    """Judge whether the two KUBEs perform alike in the homogeneous case, at every budget."""
    for reading in evidence.readings if "homogeneous" in evidence.runs else ():
        gains = _gains(evidence.of_kubes(reading), "homogeneous", reading.of("KUBE"), [reading.of("fractional KUBE")])
        verdict = _verdict(
            holds=all(gain.low > -_SLACK and gain.high < _SLACK for gain in gains),
            fails=any(gain.low > _SLACK or gain.high < -_SLACK for gain in gains),
        )
        widest = max(gains, key=lambda gain: max(-gain.low, gain.high))
        text = f"{widest} at most, at B = {widest.budget:,.0f}"
        yield Finding("homogeneous", reading.name, text, widest.value, widest.low, widest.high, verdict)


def beats_every_epsilon_first(policy: Kube) -> Rule:
    """Make the rule that a policy's regret is lower than that of every ε-first at every budget."""

    def judge(evidence: Evidence) -> Iterator[Finding]:
        for reading in evidence.readings:
            for case in evidence.runs:
                yield _order(evidence, case, reading, policy)

    return judge


def _order(evidence: Evidence, case: str, reading: Reading, policy: Kube) -> Finding:
    pairs = [(budget, rival) for budget in evidence.budgets for rival in evidence.epsilons]
    lower: list[float] = []
    higher: list[float] = []
    for budget, rival in pairs:
        difference = evidence.regrets(case, reading.of(policy), budget) - evidence.regrets(case, rival, budget)
        low, high = mean_interval(difference, level=_level(len(pairs)))
        lower += [budget] if high < 0 else []
        higher += [budget] if low > 0 else []
    remarks = [f"higher up to B = {max(higher):,.0f}"] if higher else []
    from_here = _lower_from(lower, evidence)
    if evidence.budgets[0] < from_here < math.inf:
        remarks.append(f"lower than all of them from B = {from_here:,.0f} on")
    return Finding(
        case,
        reading.name,
        f"lower in {len(lower)} and higher in {len(higher)} of {len(pairs)} comparisons",
        len(lower) / len(pairs),
        math.nan,
        math.nan,
        _verdict(holds=len(lower) == len(pairs), fails=bool(higher)),
        "; ".join(remarks),
    )


def _lower_from(lower: Sequence[float], evidence: Evidence) -> float:
    """Return the least budget from which on all comparisons are won; infinite if not all of the last one are."""
    least = math.inf
    for budget in reversed(evidence.budgets):
        if lower.count(budget) < len(evidence.epsilons):
            break
        least = budget
    return least


# How large the regret is


def constant_between_4_and_7(evidence: Evidence) -> Iterator[Finding]:
    """Judge whether the regrets over ln(B / c_min) of both KUBEs end between 4 and 7."""
    budget = evidence.budgets[-1]
    for reading in evidence.readings:
        for case in evidence.runs:
            for policy in KUBES:
                sample = evidence.regrets(case, reading.of(policy), budget, per_log=True)
                value, (low, high) = float(sample.mean()), mean_interval(sample)
                verdict = _verdict(holds=low > 3.5 and high < 7.5, fails=low > 7.5 or high < 3.5)
                text = f"{policy}: {interval_text(value, low, high, number_text)} at B = {budget:,.0f}"
                median = f"median {number_text(float(np.median(sample)))}"
                yield Finding(case, reading.name, text, value, low, high, verdict, median)


def kubes_below_curve(evidence: Evidence) -> Iterator[Finding]:
    """Judge whether the regrets over ln(B / c_min) of both KUBEs are below B^(2/3) / ln B."""
    for reading in evidence.readings:
        for case in evidence.runs:
            for policy in KUBES:
                shares = _shares_of_curve(evidence, case, reading.of(policy))
                verdict = _verdict(
                    holds=all(high < 1 for _, _, high in shares), fails=any(low > 1 for _, low, _ in shares)
                )
                share = max(shares, key=lambda each: each[1] if verdict is Verdict.FAILS else each[2])
                text = f"{policy}: at most {interval_text(*share, number_text)} times the curve"
                yield Finding(case, reading.name, text, *share, verdict)


def epsilon_first_above_curve(evidence: Evidence) -> Iterator[Finding]:
    """Judge whether the regret over ln(B / c_min) of every ε-first is above B^(2/3) / ln B."""
    for epsilon in evidence.epsilons:
        for case in evidence.runs:
            shares = _shares_of_curve(evidence, case, epsilon)
            verdict = _verdict(holds=all(low > 1 for _, low, _ in shares), fails=any(high < 1 for _, _, high in shares))
            share = min(shares, key=lambda each: each[2] if verdict is Verdict.FAILS else each[1])
            text = f"{epsilon}: at least {interval_text(*share, number_text)} times the curve"
            yield Finding(case, "any", text, *share, verdict)


def _shares_of_curve(evidence: Evidence, case: str, policy: str) -> list[tuple[float, float, float]]:
    """Return the regret over ln(B / c_min) as a multiple of the curve, with intervals, in the upper half."""
    upper = upper_half(evidence.budgets)
    shares = []
    for budget in upper:
        sample = evidence.regrets(case, policy, budget, per_log=True) / curve(budget)
        shares.append((float(sample.mean()), *mean_interval(sample, level=_level(len(upper)))))
    return shares


def curve(budget: float) -> float:
    """Return B^(2/3) / ln B, the curve of the paper's figure."""
    return float(budget ** (2 / 3)) / math.log(budget)


# What the bounds say


def below_regret_bound(policy: Kube) -> Rule:
    """Make the rule that a policy's regret is below main result 1 or 2."""

    def shares(evidence: Evidence, case: str, name: str, budget: float) -> tuple[Floats, Flags]:
        instances = evidence.instances[case]
        limits = np.array(
            [bounds.regret_upper_bound(each, budget, policy=_ANALYSED[policy], form="printed") for each in instances]
        )
        # No policy can lose more than the optimum.
        is_vacuous = limits >= [each.fractional_optimum(budget) for each in instances]
        return evidence.regrets(case, name, budget) / limits, is_vacuous

    return _bound_rule(policy, shares, "of the bound")


def pulls_within_lemma_3(policy: Kube) -> Rule:
    """Make the rule that no suboptimal arm is pulled more often than Lemma 3 allows."""

    def shares(evidence: Evidence, case: str, name: str, budget: float) -> tuple[Floats, Flags]:
        found, is_vacuous = [], []
        pulls = evidence.runs[case].of("arm_pulls", name, budget)
        for instance, counts in zip(evidence.instances[case], pulls, strict=True):
            most = int(budget / instance.cost_min)
            limits = bounds.arm_pulls_upper_bound(instance, most, policy=_ANALYSED[policy], form="printed")
            found.append(float(np.max(counts / limits)))
            is_vacuous.append(bool(np.all(limits >= budget / instance.costs)))
        return np.array(found), np.array(is_vacuous)

    return _bound_rule(policy, shares, "of the bound")


def total_pulls_within_lemma_6(policy: Kube) -> Rule:
    """Make the rule that there are at least as many pulls as Lemma 6 says.

    The pulls that are missing to B/c*, the most that the best arm could have, are taken as a share of those that the
    lemma allows to be missing.
    """

    def shares(evidence: Evidence, case: str, name: str, budget: float) -> tuple[Floats, Flags]:
        instances = evidence.instances[case]
        limits = np.array(
            [
                bounds.total_pulls_lower_bound(each, budget, policy=_ANALYSED[policy], form="printed")
                for each in instances
            ]
        )
        most = np.array([budget / each.costs[each.best_arm] for each in instances])
        return (most - evidence.runs[case].of("pulls", name, budget)) / (most - limits), limits <= 0

    return _bound_rule(policy, shares, "of the pulls that may be missing")


def _bound_rule(policy: Kube, shares: Callable[[Evidence, str, str, float], tuple[Floats, Flags]], of: str) -> Rule:
    """Make a rule of what was measured as a share of its bound, in each instance."""

    def judge(evidence: Evidence) -> Iterator[Finding]:
        for reading in evidence.readings:
            for case in evidence.runs:
                found = [shares(evidence, case, reading.of(policy), budget) for budget in evidence.budgets]
                yield _below_one(case, reading, found, of)

    return judge


def _below_one(case: str, reading: Reading, found: Sequence[tuple[Floats, Flags]], of: str) -> Finding:
    rows = [(float(sample.mean()), *mean_interval(sample, level=_level(len(found)))) for sample, _ in found]
    verdict = _verdict(holds=all(row[2] < 1 for row in rows), fails=any(row[1] > 1 for row in rows))
    share = max(rows, key=lambda row: row[1] if verdict is Verdict.FAILS else row[2])
    return Finding(
        case,
        reading.name,
        f"at most {interval_text(*share, number_text)} {of}",
        *share,
        verdict,
        remark="" if reading.width == 1 else "the bound is proved for the normalised reading only",
        vacuous=float(np.mean([flags for _, flags in found])),
    )


# What a step costs


def cost_of_a_step(policy: Kube) -> Rule:
    """Make the rule that the time of a pull grows no faster than the paper says: K log K for KUBE, K for the other.

    A time has no interval here: it is the least of several, and noise only adds to it.
    """

    def judge(evidence: Evidence) -> Iterator[Finding]:
        seconds = evidence.pull_seconds.get(policy)
        if not seconds:
            return
        (few, fast), (many, slow) = min(seconds.items()), max(seconds.items())
        factor = slow / fast
        allowed = many / few * (math.log(many) / math.log(few) if policy == "KUBE" else 1)
        text = ", ".join(f"{1e9 * value:.0f} ns at K = {arms:,}" for arms, value in sorted(seconds.items()))
        remark = f"{factor:.2g} times for {many // few:,} times the arms, where {allowed:.3g} times are allowed"
        verdict = _verdict(holds=factor <= allowed, fails=factor > allowed)
        yield Finding("moderate", "any", text, factor, math.nan, math.nan, verdict, remark)

    return judge
