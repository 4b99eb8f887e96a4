"""All that a file may ask for by name: for the terminal, and as tables for the documentation."""

from collections.abc import Mapping
from typing import Any, Final

from budgetbandits.core.registry import CatalogueRow, Registry
from budgetbandits.policies import POLICIES
from budgetbandits.policies.indices import INDICES
from budgetbandits.policies.memories import MEMORIES
from budgetbandits.policies.oracles import ORACLES
from budgetbandits.problems.families import FAMILIES
from budgetbandits.problems.laws import LAWS

__all__ = ["listing", "markdown_table"]

_SECTIONS: Final[Mapping[str, Registry[Any]]] = {
    'Policies: in [policies.ANY-NAME], policy = "kube" and its parameters': POLICIES,
    'Indices, for index_policy: index = { type = "UCB1", width = 0.5 }': INDICES,
    'Oracles, for index_policy and epsilon_first: oracle = "Exact"': ORACLES,
    'Memories, for any policy: memory = { type = "Window", pulls = 1000 }': MEMORIES,
    'Laws of rewards and costs: in [[arms]], reward = { law = "bernoulli", probability = 0.2 }': LAWS,
    'Problems for compare: in [problems.ANY-NAME], family = "bernoulli" and its parameters': FAMILIES,
}
_NO_PROOF: Final = "no proof"


def listing() -> str:
    """Return all that a file may ask for by name, as text to read.

    >>> print(listing().partition("  fractional_kube")[0])
    Policies: in [policies.ANY-NAME], policy = "kube" and its parameters
    <BLANKLINE>
      kube (width = 1.0)
          KUBE: the upper confidence bounds of UCB1 with the density-ordered greedy (paper, Algorithm 1).
          published: Tran-Thanh et al. 2012
          regret with a budget: logarithmic for width 1
    """
    return "\n\n".join(
        "\n".join([title, "", *(_paragraph(row, registry in (POLICIES, INDICES)) for row in registry.catalogue())])
        for title, registry in _SECTIONS.items()
    )


def _paragraph(row: CatalogueRow, with_facts: bool) -> str:
    head = f"{row.name} ({row.parameters})" if row.parameters else row.name
    return "\n      ".join([f"  {head}", row.summary, *(_facts(row) if with_facts else ())])


def _facts(row: CatalogueRow) -> list[str]:
    origin = row.origin if row.source is None else f"{row.origin}: {row.source}"
    first = f"{origin}; made for random costs" if row.random_costs else origin
    return [f"{first}; {_NO_PROOF}"] if row.proof is None else [first, f"regret with a budget: {row.proof}"]


def markdown_table(registry: Registry[Any]) -> str:
    """Return what a registry says as a table in Markdown.

    >>> print(markdown_table(MEMORIES))  # doctest: +ELLIPSIS
    | name | what it is | source | regret with a budget | for random costs |
    | --- | --- | --- | --- | --- |
    | `Window` | ... | Garivier and Moulines 2011 | no proof |  |
    | `Discount` | ... | Kocsis and Szepesvári 2006 | no proof |  |
    """
    names = ["name", "what it is", "source", "regret with a budget", "for random costs"]
    lines = [names, ["---"] * len(names), *(_cells(row) for row in registry.catalogue())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _cells(row: CatalogueRow) -> list[str]:
    facts = [row.source or "own", row.proof or _NO_PROOF, "yes" if row.random_costs else ""]
    return [f"`{row.name}`", row.summary, *facts]
