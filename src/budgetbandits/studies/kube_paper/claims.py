"""The claims of the paper, with the rule of each verdict in words and as a function.

Every rule stands in the report, and was written before the runs of the report were made (docs/decisions/0010 says what
was mended later). It answers one of three: the claim holds, it
does not hold, or it cannot be told at this many runs. Regret is measured against the exact optimum, run by run on the
same rewards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from budgetbandits.studies.kube_paper import rules
from budgetbandits.studies.kube_paper.evidence import KUBES, Evidence, Finding

__all__ = ["CLAIMS", "Claim", "findings"]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    key
        A short name.
    statement, source, paper
        What is claimed, where, and the figure that the paper gives.
    rule
        How it is judged.
    judge
        The rule as a function of the evidence.
    """

    key: str
    statement: str
    source: str
    paper: str
    rule: str
    judge: rules.Rule


def findings(evidence: Evidence) -> list[tuple[Claim, Finding]]:
    """Judge every claim."""
    return [(claim, finding) for claim in CLAIMS for finding in claim.judge(evidence)]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


_GROWTH_RULE: Final = (
    "Fit the mean regret over the upper half of the budgets to a + b ln B and to a + b B^(2/3). {0} if the 95% "
    "interval of what the second leaves unexplained less what the first leaves is above 0; {1} if it is below 0."
)
_REACHED_RULE: Final = (
    "Holds if at some budget the interval of the paired gain lies above the figure less 5 points; does not hold if at "
    "every budget it lies below that."
)
_BOUND_RULE: Final = (
    "Take the bound as printed, in each instance, and what was measured as a share of it. Holds if the interval of the "
    "mean share is below 1 at every budget; does not hold if it is above 1 at some."
)

CLAIMS: Final[Sequence[Claim]] = (
    *(
        Claim(
            f"{policy}: logarithmic",
            f"The regret of {policy} is logarithmic in the budget",
            "section 5, main results 1 and 2",
            "C ln(B/c_min)",
            _GROWTH_RULE.format("Holds", "does not hold"),
            rules.logarithmic(policy),
        )
        for policy in KUBES
    ),
    Claim(
        "eps-first: not logarithmic",
        "The regret of eps-first is not logarithmic",
        "sections 1 and 5",
        "O(B^(2/3))",
        _GROWTH_RULE.format("Does not hold", "holds"),
        rules.epsilon_first_grows_faster,
    ),
    Claim(
        "KUBE against fractional KUBE: moderate",
        "KUBE's regret is lower than fractional KUBE's by up to 40% with moderately diverse costs",
        "section 5",
        "up to 40%",
        _REACHED_RULE,
        rules.kube_gains_when_moderate,
    ),
    Claim(
        "KUBE against fractional KUBE: extreme",
        "KUBE's regret is typically lower by around 30% with extremely diverse costs",
        "section 5",
        "around 30%",
        "Add up the regrets over ln(B/c_min) of all budgets. Holds if the interval of the paired gain lies within 25% "
        "and 35%; does not hold if it lies outside.",
        rules.kube_gains_when_extreme,
    ),
    Claim(
        "KUBE against fractional KUBE: homogeneous",
        "The two perform alike with homogeneous costs",
        "section 5",
        "similar",
        "Holds if at every budget the interval of the paired gain lies within 5% of 0; does not hold if at some budget "
        "it lies outside.",
        rules.alike_when_homogeneous,
    ),
    *(
        Claim(
            f"{policy} against eps-first",
            f"{_capital(policy)} has a lower regret than every eps-first",
            "section 5",
            "outperforms",
            "Compare with every eps at every budget, paired. Holds if every interval of the difference is below 0; "
            "does not hold if some interval is above 0.",
            rules.beats_every_epsilon_first(policy),
        )
        for policy in KUBES
    ),
    Claim(
        "KUBE against eps-first: how much",
        "KUBE's regret is lower than that of eps-first by up to 70%",
        "section 5",
        "up to 70%",
        _REACHED_RULE,
        rules.gain_on_epsilon_first("KUBE", 0.7),
    ),
    Claim(
        "fractional KUBE against eps-first: how much",
        "Fractional KUBE's regret is lower than that of eps-first by up to 50%",
        "section 5",
        "up to 50%",
        _REACHED_RULE,
        rules.gain_on_epsilon_first("fractional KUBE", 0.5),
    ),
    Claim(
        "constants",
        "Regret over ln(B/c_min) converges to a constant between 4 and 7",
        "section 5",
        "4 to 7",
        "Take the largest budget. Holds if the interval lies within 3.5 and 7.5; does not hold if it lies outside.",
        rules.constant_between_4_and_7,
    ),
    Claim(
        "KUBEs below the curve",
        "Regret over ln(B/c_min) of both KUBEs is typically under the line B^(2/3)/ln B",
        "section 5",
        "under the line",
        "Take the line with the constant 1 and the upper half of the budgets. Holds if every interval is below the "
        "line; does not hold if some interval is above it.",
        rules.kubes_below_curve,
    ),
    Claim(
        "eps-first above the curve",
        "That of eps-first is larger than the line B^(2/3)/ln B",
        "section 5",
        "above the line",
        "Take the line with the constant 1 and the upper half of the budgets. Holds if every interval is above the "
        "line; does not hold if some interval is below it.",
        rules.epsilon_first_above_curve,
    ),
    *(
        Claim(
            f"{policy}: regret bound",
            f"The regret of {policy} is below main result {number}",
            f"Theorem {theorem}",
            "R <= bound",
            _BOUND_RULE,
            rules.below_regret_bound(policy),
        )
        for policy, number, theorem in zip(KUBES, (1, 2), (1, 7), strict=True)
    ),
    *(
        Claim(
            f"{policy}: pulls of suboptimal arms",
            f"{_capital(policy)} pulls no suboptimal arm more often than Lemma 3 allows",
            "Lemma 3" if policy == "KUBE" else "Lemma 3 and eq. 32",
            "N_j <= bound",
            _BOUND_RULE + " The share is the largest of all suboptimal arms, with T = B/c_min.",
            rules.pulls_within_lemma_3(policy),
        )
        for policy in KUBES
    ),
    *(
        Claim(
            f"{policy}: number of pulls",
            f"{_capital(policy)} makes at least as many pulls as Lemma 6 says",
            "Lemma 6" if policy == "KUBE" else "Lemma 6 and eq. 34",
            "T >= bound",
            "Take the pulls that are missing to B/c*, the most that the best arm could have, as a share of those that "
            "the lemma as printed allows to be missing, in each instance. Holds if the interval of the mean share is "
            "below 1 at every budget; does not hold if it is above 1 at some.",
            rules.total_pulls_within_lemma_6(policy),
        )
        for policy in KUBES
    ),
    *(
        Claim(
            f"{policy}: cost of a step",
            f"A step of {policy} costs {paper}",
            "section 3",
            paper,
            "Measure the CPU time of a pull of this implementation, the least of several, with few and with many arms. "
            "Holds if it grows by no more than the paper says; does not hold if it grows by more.",
            rules.cost_of_a_step(policy),
        )
        for policy, paper in zip(KUBES, ("O(K log K)", "O(K)"), strict=True)
    ),
)
"""Every claim of section 5, and the bounds that it illustrates, in the order of the report."""
