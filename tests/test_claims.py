"""The rules of the verdicts, on evidence whose truth is known."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.arrays import Floats
from budgetbandits.studies.kube_paper import rules
from budgetbandits.studies.kube_paper.claims import CLAIMS, findings
from budgetbandits.studies.kube_paper.evidence import Evidence, Finding, Kube, Reading, Verdict
from budgetbandits.studies.kube_paper.page import claims_csv, claims_text, summary

BUDGETS = (1e3, 1e4, 3e4, 1e5, 3e5, 1e6)
CASES: tuple[str, ...] = ("homogeneous", "moderate", "extreme")
READINGS = (Reading("literal", 1 / 40), Reading("normalised", 1.0))
EPSILONS = ("eps-first 0.05", "eps-first 0.10")
POLICIES: dict[str, bb.Policy] = {
    "KUBE (literal)": bb.kube(1 / 40),
    "KUBE (normalised)": bb.kube(),
    "fractional KUBE (literal)": bb.fractional_kube(1 / 40),
    "fractional KUBE (normalised)": bb.fractional_kube(),
    "eps-first 0.05": bb.epsilon_first(0.05),
    "eps-first 0.10": bb.epsilon_first(0.1),
}
ARMS = 5

Curve = Callable[[float], float]


def log_curve(budget: float) -> float:
    return 50 * math.log(budget)


def power_curve(budget: float) -> float:
    return 5 * float(budget ** (2 / 3))


USUAL: dict[str, Curve] = {name: log_curve if "KUBE" in name else power_curve for name in POLICIES}


def evidence(
    curves: Mapping[str, Curve] | None = None, runs: int = 30, noise: float = 0.02, pulls_of_others: int = 3
) -> Evidence:
    """Make evidence of these regrets, some of it noise that all policies share and some of their own."""
    curves = USUAL | dict(curves or {})
    families = {
        "homogeneous": bb.paper_family("homogeneous", ARMS),
        "moderate": bb.paper_family("moderate", ARMS),
        "extreme": bb.paper_family("extreme", ARMS),
    }
    return Evidence(families, {case: made(curves, runs, noise, pulls_of_others) for case in CASES}, READINGS, EPSILONS)


def made(curves: Mapping[str, Curve], runs: int, noise: float, pulls_of_others: int) -> bb.Runs:
    generator = np.random.default_rng(1)
    shared = generator.uniform(0.9, 1.1, runs)
    columns: dict[str, list[object]] = {}
    for run in range(runs):
        for policy in POLICIES:
            for budget in BUDGETS:
                own = 1 + noise * float(generator.standard_normal())
                pulls = np.full(ARMS, pulls_of_others)
                row = {
                    "run": run,
                    "policy": policy,
                    "budget": budget,
                    "reward": 0.0,
                    "expected_reward": 1e8 - curves[policy](budget) * shared[run] * own,
                    "pulls": int(budget),
                    "spent": budget,
                    "optimum": 1e8,
                    "fractional_optimum": 1e8 + 1,
                    "cost_min": 1.0,
                    "arm_pulls": pulls,
                }
                for name, value in row.items():
                    columns.setdefault(name, []).append(value)
    return bb.Runs({name: np.array(values) for name, values in columns.items()}, POLICIES, seed=1)


def verdicts(rule: rules.Rule, known: Evidence, reading: str | None = None, case: str | None = None) -> set[Verdict]:
    found = [each for each in rule(known) if reading in (None, each.reading) and case in (None, each.case)]
    assert found
    return {each.verdict for each in found}


def times(factor: float, curve: Curve) -> Curve:
    return lambda budget: factor * curve(budget)


KUBE, FRACTIONAL = "KUBE (literal)", "fractional KUBE (literal)"
JUDGED: Sequence[tuple[str, rules.Rule, Mapping[str, Curve], Verdict]] = [
    ("a logarithm", rules.logarithmic("KUBE"), {}, Verdict.HOLDS),
    ("a power", rules.logarithmic("KUBE"), {KUBE: power_curve}, Verdict.FAILS),
    ("another policy's power", rules.logarithmic("fractional KUBE"), {KUBE: power_curve}, Verdict.HOLDS),
    ("40% less", rules.kube_gains_when_moderate, {KUBE: times(0.6, log_curve)}, Verdict.HOLDS),
    ("no less", rules.kube_gains_when_moderate, {}, Verdict.FAILS),
    ("10% less", rules.kube_gains_when_moderate, {KUBE: times(0.9, log_curve)}, Verdict.FAILS),
    ("40% more", rules.kube_gains_when_moderate, {KUBE: times(1.4, log_curve)}, Verdict.FAILS),
    ("30% less on the whole", rules.kube_gains_when_extreme, {KUBE: times(0.7, log_curve)}, Verdict.HOLDS),
    ("60% less on the whole", rules.kube_gains_when_extreme, {KUBE: times(0.4, log_curve)}, Verdict.FAILS),
    ("10% less on the whole", rules.kube_gains_when_extreme, {KUBE: times(0.9, log_curve)}, Verdict.FAILS),
    ("alike", rules.alike_when_homogeneous, {}, Verdict.HOLDS),
    ("20% apart", rules.alike_when_homogeneous, {KUBE: times(1.2, log_curve)}, Verdict.FAILS),
    (
        "below all at every budget",
        rules.beats_every_epsilon_first("KUBE"),
        dict.fromkeys(EPSILONS, times(2, log_curve)),
        Verdict.HOLDS,
    ),
    (
        "above one of them at the least budget",
        rules.beats_every_epsilon_first("KUBE"),
        {EPSILONS[1]: lambda budget: 100.0 if budget < 2e3 else 1e6},
        Verdict.FAILS,
    ),
    (
        "a third",
        rules.gain_on_epsilon_first("KUBE", 0.7),
        dict.fromkeys(EPSILONS, times(4, log_curve)),
        Verdict.HOLDS,
    ),
    (
        "a half, which is too much",
        rules.gain_on_epsilon_first("KUBE", 0.7),
        dict.fromkeys(EPSILONS, times(2, log_curve)),
        Verdict.FAILS,
    ),
    ("5 ln B", rules.constant_between_4_and_7, dict.fromkeys(USUAL, times(0.1, log_curve)), Verdict.HOLDS),
    ("50 ln B", rules.constant_between_4_and_7, {}, Verdict.FAILS),
    ("under the line", rules.kubes_below_curve, dict.fromkeys(USUAL, times(0.01, log_curve)), Verdict.HOLDS),
    ("over the line", rules.kubes_below_curve, dict.fromkeys(USUAL, times(5, power_curve)), Verdict.FAILS),
]


@pytest.mark.parametrize(("rule", "curves", "expected"), [row[1:] for row in JUDGED], ids=[row[0] for row in JUDGED])
def test_a_rule_says_what_is_known(rule: rules.Rule, curves: Mapping[str, Curve], expected: Verdict) -> None:
    assert verdicts(rule, evidence(curves), reading="literal") == {expected}


def test_epsilon_first_is_told_from_a_logarithm() -> None:
    assert verdicts(rules.epsilon_first_grows_faster, evidence()) == {Verdict.HOLDS}
    both = dict.fromkeys(EPSILONS, log_curve)
    assert verdicts(rules.epsilon_first_grows_faster, evidence(both)) == {Verdict.FAILS}


def test_epsilon_first_is_held_against_the_line() -> None:
    assert verdicts(rules.epsilon_first_above_curve, evidence()) == {Verdict.HOLDS}
    low = dict.fromkeys(EPSILONS, times(0.001, power_curve))
    assert verdicts(rules.epsilon_first_above_curve, evidence(low)) == {Verdict.FAILS}


def test_noise_leaves_the_question_open() -> None:
    loud = evidence({KUBE: times(0.62, log_curve)}, runs=4, noise=0.9)
    assert verdicts(rules.kube_gains_when_moderate, loud, reading="literal") == {Verdict.OPEN}


def test_one_run_decides_nothing() -> None:
    for claim in CLAIMS:
        for finding in claim.judge(evidence(runs=1)):
            assert finding.verdict is Verdict.OPEN


def test_the_comparison_that_decides_is_shown() -> None:
    """A large gain with a wide interval beside a smaller one that is certain."""
    curves: dict[str, Curve] = {
        KUBE: lambda budget: 0.3 * log_curve(budget),
        EPSILONS[0]: log_curve,
        EPSILONS[1]: log_curve,
    }
    known = evidence(curves, runs=30, noise=0.1)
    for finding in rules.gain_on_epsilon_first("KUBE", 0.5)(known):
        if finding.reading == "literal":
            assert finding.verdict is Verdict.HOLDS
            assert finding.low > 0.45


def test_bounds_that_say_nothing_are_told_beside_the_verdict() -> None:
    judged = findings(evidence(runs=3))
    texts = {row[0]: list(row[2:]) for row in summary(judged).cells}
    told = texts["The regret of KUBE is below main result 1"]
    assert all(text.startswith("holds, but the bound is vacuous in ") for text in told)


def test_the_unit_of_the_rewards_scales_the_regret() -> None:
    known = evidence()
    scaled = replace(known, reward_unit=40.0)
    pairs = zip(rules.constant_between_4_and_7(known), rules.constant_between_4_and_7(scaled), strict=True)
    for plain, small in pairs:
        assert small.value == pytest.approx(plain.value / 40)


def test_more_runs_of_the_kubes_serve_where_the_kubes_are_compared() -> None:
    known = evidence(runs=5)
    more = evidence({KUBE: times(0.6, log_curve)}, runs=30).runs
    settled = replace(known, more_of_kubes={"literal": more})
    assert verdicts(rules.kube_gains_when_moderate, settled, reading="literal") == {Verdict.HOLDS}
    assert verdicts(rules.kube_gains_when_moderate, settled, reading="normalised") == {Verdict.FAILS}
    assert verdicts(rules.gain_on_epsilon_first("KUBE", 0.7), settled) == verdicts(
        rules.gain_on_epsilon_first("KUBE", 0.7), known
    )


def test_the_readings_are_judged_apart() -> None:
    found = evidence({KUBE: times(0.6, log_curve)})
    assert verdicts(rules.kube_gains_when_moderate, found, reading="literal") == {Verdict.HOLDS}
    assert verdicts(rules.kube_gains_when_moderate, found, reading="normalised") == {Verdict.FAILS}


def test_a_gain_is_paired() -> None:
    """Runs differ by a factor of a hundred; the policies, on the same run, by 50%."""
    known = evidence({KUBE: times(0.5, log_curve)}, runs=30, noise=0.0)
    factors = np.repeat(np.geomspace(1, 100, 30), len(POLICIES) * len(BUDGETS))

    def spread(runs: bb.Runs) -> bb.Runs:
        columns = {name: runs[name].copy() for name in ("run", "policy", "budget", "optimum", "cost_min")}
        regret = (runs["optimum"] - runs["expected_reward"]) * factors
        return bb.Runs(columns | {"expected_reward": columns["optimum"] - regret}, POLICIES, seed=1)

    wide = replace(known, runs={case: spread(runs) for case, runs in known.runs.items()})
    (finding,) = [each for each in rules.kube_gains_when_moderate(wide) if each.reading == "literal"]
    assert (finding.value, finding.low, finding.high) == pytest.approx((0.5, 0.5, 0.5), abs=1e-6)


@pytest.mark.parametrize("policy", ["KUBE", "fractional KUBE"])
def test_what_is_far_below_the_bounds_holds(policy: str) -> None:
    known = evidence()
    for rule in (rules.below_regret_bound, rules.pulls_within_lemma_3):
        assert verdicts(rule("KUBE" if policy == "KUBE" else "fractional KUBE"), known) == {Verdict.HOLDS}


def test_what_is_above_the_bounds_does_not() -> None:
    known = evidence(dict.fromkeys(USUAL, lambda budget: 1e60), pulls_of_others=10**17)
    for rule in (rules.below_regret_bound("KUBE"), rules.pulls_within_lemma_3("KUBE")):
        assert verdicts(rule, known) == {Verdict.FAILS}


def test_too_few_pulls_for_lemma_6_are_seen() -> None:
    known = evidence()
    assert verdicts(rules.total_pulls_within_lemma_6("KUBE"), known) == {Verdict.HOLDS}

    def with_pulls(runs: bb.Runs, pulls: Floats) -> bb.Runs:
        columns = {name: runs[name] for name in ("run", "policy", "budget", "optimum", "expected_reward", "cost_min")}
        return bb.Runs(columns | {"pulls": pulls}, POLICIES, seed=1)

    # The bound of a random instance is far below 0: only an absurd count can break it.
    broken = {case: with_pulls(runs, np.full(len(runs), -1e15)) for case, runs in known.runs.items()}
    assert verdicts(rules.total_pulls_within_lemma_6("KUBE"), replace(known, runs=broken)) == {Verdict.FAILS}


def test_the_cost_of_a_step_is_told_by_its_growth() -> None:
    def judged(policy: Kube, slow: float) -> Finding:
        known = replace(evidence(runs=2), pull_seconds={policy: {100: 1e-8, 10_000: slow}})
        return next(iter(rules.cost_of_a_step(policy)(known)))

    assert judged("KUBE", 2e-8).verdict is Verdict.HOLDS
    assert "2 times for 100 times the arms" in judged("KUBE", 2e-8).remark
    # 150 times for 100 times the arms: less than K log K, more than K.
    assert judged("KUBE", 1.5e-6).verdict is Verdict.HOLDS
    assert judged("fractional KUBE", 1.5e-6).verdict is Verdict.FAILS
    assert judged("KUBE", 1e-5).verdict is Verdict.FAILS


def test_the_remark_says_from_where_on_a_policy_is_below_all_epsilon_first() -> None:
    crossing = dict.fromkeys(EPSILONS, lambda budget: 10.0 if budget < 2e4 else 1e5)
    finding = next(iter(rules.beats_every_epsilon_first("KUBE")(evidence(crossing))))
    assert finding.remark == "higher up to B = 10,000; lower than all of them from B = 30,000 on"


def test_every_claim_is_judged_in_every_case_and_reading_that_it_is_about() -> None:
    judged = findings(evidence(runs=5))
    assert {claim.key for claim, _ in judged} == {claim.key for claim in CLAIMS if "cost of a step" not in claim.key}
    for claim in CLAIMS:
        found = [finding for other, finding in judged if other is claim]
        cases = {finding.case for finding in found}
        assert cases in (set(CASES), {claim.key.rpartition(": ")[2]}, set())
        assert {finding.reading for finding in found} in ({"literal", "normalised"}, {"any"}, set())
        assert claim.rule.strip().endswith(".")


def test_the_claims_as_text_and_csv_and_in_short() -> None:
    judged = findings(evidence({KUBE: times(0.6, log_curve)}, runs=10))
    text = claims_text(judged)
    assert "by up to 40% with moderately diverse costs  (paper: up to 40%)" in text
    assert "In short:" in text
    lines = claims_csv(judged).splitlines()
    assert lines[0] == "claim,statement,source,paper,case,reading,ours,value,low,high,verdict,remark,vacuous"
    assert len(lines) == 1 + len(judged)
    rows = {row[0]: list(row[1:]) for row in summary(judged).cells}
    statement = "KUBE's regret is lower than fractional KUBE's by up to 40% with moderately diverse costs"
    assert rows[statement] == ["up to 40%", "holds", "does not hold"]
