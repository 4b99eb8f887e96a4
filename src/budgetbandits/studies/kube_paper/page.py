"""The report of the reproduction: what the paper claims, what we find, and how to get the same again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import chain, groupby

from budgetbandits.analysis.figures import Picture
from budgetbandits.analysis.growth import Fit
from budgetbandits.analysis.regret import regret
from budgetbandits.core.tables import csv_text
from budgetbandits.studies.kube_paper.claims import Claim
from budgetbandits.studies.kube_paper.evidence import (
    Evidence,
    Finding,
    Verdict,
    interval_text,
    number_text,
    percent_text,
)
from budgetbandits.studies.kube_paper.readings import Attempt
from budgetbandits.studies.outputs import versions
from budgetbandits.studies.report import Block, Code, Document, Heading, Image, Rows, Text

__all__ = ["claims_csv", "claims_text", "document", "summary"]

Judged = Sequence[tuple[Claim, Finding]]


def claims_csv(judged: Judged) -> str:
    """Return every finding as CSV text."""
    names = ["claim", "statement", "source", "paper", *(field.name for field in fields(Finding))]
    rows = [(claim.key, claim.statement, claim.source, claim.paper, *astuple(finding)) for claim, finding in judged]
    return csv_text(names, rows)


def summary(judged: Judged) -> Rows:
    """Return one row for each claim: the paper's figure, and the verdicts in each reading."""
    readings = list(dict.fromkeys(finding.reading for _, finding in judged if finding.reading != "any"))
    rows = []
    for claim, found in _by_claim(judged):
        verdicts = [_verdicts([each for each in found if each.reading in (reading, "any")]) for reading in readings]
        rows.append([claim.statement, claim.paper, *verdicts])
    return Rows(["claim", "paper", *readings], rows)


def _by_claim(judged: Judged) -> Iterable[tuple[Claim, list[Finding]]]:
    for claim, pairs in groupby(judged, key=lambda pair: pair[0]):
        yield claim, [finding for _, finding in pairs]


def _verdicts(found: Sequence[Finding]) -> str:
    """Return the verdict; where there are several, each with its cases, or with how often it was given."""
    cases = {verdict: [each.case for each in found if each.verdict is verdict] for verdict in Verdict}
    given = {verdict: names for verdict, names in cases.items() if names}
    if len(given) == 1:
        return str(next(iter(given))) + _caveat(found)
    if len(set(chain(*map(set, given.values())))) == sum(len(set(names)) for names in given.values()):
        told = "; ".join(f"{verdict}: {', '.join(dict.fromkeys(names))}" for verdict, names in given.items())
    else:
        told = "; ".join(f"{verdict}: {len(names)} of {len(found)}" for verdict, names in given.items())
    return (told or "-") + _caveat(found)


def claims_text(judged: Judged) -> str:
    """Return all findings for a terminal, claim by claim, and the summary after them."""
    lines = []
    for claim, found in _by_claim(judged):
        lines.append(f"{claim.statement}  (paper: {claim.paper})")
        lines += [
            f"  {each.reading:11} {each.case:12} {each.ours:84} {each.verdict}{_caveat([each])}" for each in found
        ]
    table = summary(judged)
    lines += ["", "In short:", ""]
    width = max(len(cells[0]) for cells in table.cells)
    for cells in table.cells:
        lines.append(f"{cells[0]:{width}}  (paper: {cells[1]})")
        lines += [f"    {name:11} {verdict}" for name, verdict in zip(table.names[2:], cells[2:], strict=True)]
    return "\n".join(lines)


def _caveat(found: Sequence[Finding]) -> str:
    """Return what has to stand beside a verdict on a vacuous bound, or no text."""
    shares = sorted({percent_text(each.vacuous) for each in found}, key=lambda text: float(text.removesuffix("%")))
    if not any(each.vacuous for each in found):
        return ""
    return f", but the bound is vacuous in {' to '.join(dict.fromkeys((shares[0], shares[-1])))} of the instances"


def document(
    evidence: Evidence,
    judged: Judged,
    tried: Sequence[Attempt],
    pictures: Mapping[str, Picture],
    settings: Mapping[str, str],
    options: str,
) -> Document:
    """Return the report."""
    return Document(
        "The paper's section 5, reproduced",
        [
            Text(_LEAD),
            *_figures(pictures),
            Heading("The claims in short"),
            summary(judged),
            Heading("Every claim, with our figures"),
            Text(_ON_FIGURES),
            Rows(
                ["claim", "case", "reading", "paper", "ours, with 95% interval", "verdict", "remark"],
                [_row(claim, finding) for claim, finding in judged],
            ),
            Heading("The rules"),
            Text(_ON_RULES),
            Rows(["claim", "source", "rule"], [[c.statement, c.source, c.rule] for c, _ in _by_claim(judged)]),
            Heading("What else was tried"),
            Text(_ON_ATTEMPTS),
            Rows(["claim", "tried", "case", "reading", "outcome"], [list(astuple(each)) for each in tried]),
            Heading("Growth of the regret"),
            Text(_ON_GROWTH),
            _growth_table(evidence),
            *_regret_tables(evidence),
            Heading("How we read the paper"),
            *(Text(reading) for reading in _HOW_WE_READ),
            Heading("Settings and versions"),
            Rows(["setting", "value"], [*map(list, settings.items()), *map(list, versions().items())]),
            Heading("To run it again"),
            Code(f"budgetbandits reproduce {options}".rstrip()),
            Text(_ON_REPEATING),
        ],
    )


def _figures(pictures: Mapping[str, Picture]) -> list[Block]:
    captions = {
        "literal": "Literal reading: the confidence bound is added to the rewards as they are drawn.",
        "normalised": "Normalised reading: rewards are rescaled to [0, 1] first, so that the bound is the proved one.",
    }
    return [
        Image(
            f"figure-{name}.png",
            picture.png,
            f"{captions[name]} {picture.how_drawn} Where the two KUBEs coincide, one lies on the other in dashes.",
        )
        for name, picture in pictures.items()
    ]


def _row(claim: Claim, finding: Finding) -> list[str]:
    return [
        claim.statement,
        finding.case,
        finding.reading,
        claim.paper,
        finding.ours,
        f"{finding.verdict}{_caveat([finding])}",
        finding.remark,
    ]


def _growth_table(evidence: Evidence) -> Rows:
    rows = []
    for case, runs in evidence.runs.items():
        for policy in runs.policy_names:
            found = evidence.growth(case, policy)
            if found is not None:
                cells = [case, policy, *_fit(found.logarithm), *_fit(found.power)]
                rows.append([*cells, interval_text(found.advantage, found.low, found.high)])
    names = ["case", "policy", "slope on ln B", "unexplained", "slope on B^(2/3)", "unexplained", "difference"]
    return Rows(names, rows)


def _fit(fit: Fit) -> list[str]:
    return [interval_text(fit.slope, fit.slope_low, fit.slope_high, number_text), percent_text(fit.unexplained)]


def _regret_tables(evidence: Evidence) -> list[Block]:
    blocks: list[Block] = [Heading("Regret over ln(B / c_min)"), Text(_ON_REGRET)]
    shown = [evidence.budgets[i] for i in range(0, len(evidence.budgets), 3)]
    for case, runs in evidence.runs.items():
        rows = {(row.policy, row.budget): row for row in regret(runs, per_log=True)}
        cells = [
            [
                policy,
                *(interval_text(row.mean, row.low, row.high, number_text) for row in (rows[policy, b] for b in shown)),
            ]
            for policy in runs.policy_names
        ]
        blocks.append(Rows([case, *(f"B = {budget:,.0f}" for budget in shown)], cells))
    return blocks


_LEAD = (
    "L. Tran-Thanh, A. Chapman, A. Rogers and N. R. Jennings, Knapsack based Optimal Policies for Budget-Limited "
    "Multi-Armed Bandits (2012), compare KUBE, fractional KUBE and budget-limited eps-first on random problems with "
    "100 arms. This page plays the same problems and holds every claim against what comes out."
)
_ON_FIGURES = (
    "A gain is how much lower the regret is, as a share of the rival's: 40% means a regret of 0.6 times the rival's. "
    "Where several comparisons are made for one verdict, the intervals are widened so that all of them hold together "
    "with 95%."
)
_ON_RULES = (
    "The rules were written before the runs of this report were made, after a pilot on other seeds. All intervals "
    "are 95% intervals; what is neither shown to hold nor shown to fail cannot be told at this many runs. Claims "
    "about cases that were not played are left out."
)
_ON_ATTEMPTS = (
    "Each row changes one thing; where the rule of the claim can be applied again, its verdict stands at the end. "
    "What is tried does not depend on the runs. It explains; it changes no verdict."
)
_ON_GROWTH = (
    "Mean regret over the upper half of the budgets, fitted to a + b ln B and to a + b B^(2/3). Unexplained is the "
    "share of the variation over these budgets that the fit leaves; the difference is what the second leaves more "
    "than the first."
)
_ON_REGRET = "Mean with its 95% interval. The file regret.csv has every budget, with medians and percentiles."
_ON_REPEATING = (
    "The same settings and seed give the same figures to the last digit, for any number of workers and after any "
    "interruption; only the times of a pull differ. The same command resumes an interrupted run."
)
_HOW_WE_READ = (
    "Confidence bound: sqrt(2 ln t / n) is for rewards in [0, 1], but section 5 draws rewards from 0 to 40 and does "
    "not say whether they are rescaled. Both readings are shown. The bounds of the paper are proved for the "
    "normalised one.",
    "Costs are real numbers, uniform in [5, 10], [1, 10] or [1, 20]; whole-number costs are among what else was tried.",
    "Regret is the optimum of the unbounded knapsack on the true means, solved exactly, less the true means of the "
    "arms that were pulled. Every run has an instance of its own, and the n-th reward of an arm is the same for "
    "every policy.",
    "eps-first explores round-robin with a share eps of the budget, then exploits the estimates of that phase with the "
    "density-ordered greedy algorithm.",
    "The curve B^(2/3) / ln B is drawn with the constant 1, since the paper gives none.",
)
