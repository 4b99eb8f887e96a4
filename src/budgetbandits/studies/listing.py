"""All that a file may ask for by name: for the terminal, and as tables for the documentation.

``python -m budgetbandits.studies.listing docs/policies.md``, which is ``make tables``, writes the tables again.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from budgetbandits.core.registry import CatalogueRow, Registry
from budgetbandits.policies import POLICIES
from budgetbandits.policies.beliefs.base import BELIEFS
from budgetbandits.policies.indices import INDICES
from budgetbandits.policies.memories import MEMORIES
from budgetbandits.policies.oracles import ORACLES
from budgetbandits.problems.families import FAMILIES
from budgetbandits.problems.laws import LAWS
from budgetbandits.studies.keys import choice
from budgetbandits.studies.report import Rows, block_markdown

__all__ = ["listing", "with_tables"]

_SECTIONS: Final[Mapping[str, Registry[Any]]] = {
    'Policies: in [policies.ANY-NAME], policy = "kube" and its parameters': POLICIES,
    'Indices, for index_policy: index = { type = "UCB1", width = 0.5 }': INDICES,
    'Oracles, for index_policy and epsilon_first: oracle = "Exact"': ORACLES,
    'Memories, for any policy: memory = { type = "Window", pulls = 1000 }': MEMORIES,
    'Laws of rewards and costs: in [[arms]], reward = { law = "bernoulli", probability = 0.2 }': LAWS,
    'Problems: in [problem], or [problems.ANY-NAME] of a list, family = "bernoulli" and its parameters': FAMILIES,
}
_WITH_FACTS: Final[tuple[Registry[Any], ...]] = (POLICIES, INDICES)
"""Of these it matters where they come from, and what is proved."""
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
        "\n".join([title, "", *(_paragraph(row, registry in _WITH_FACTS) for row in registry.catalogue())])
        for title, registry in _SECTIONS.items()
    )


def _paragraph(row: CatalogueRow, with_facts: bool) -> str:
    head = f"{row.name} ({row.parameters})" if row.parameters else row.name
    return "\n      ".join([f"  {head}", row.summary, *(_facts(row) if with_facts else ())])


def _facts(row: CatalogueRow) -> list[str]:
    origin = row.origin if row.source is None else f"{row.origin}: {row.source}"
    first = f"{origin}; made for random costs" if row.random_costs else origin
    return [f"{first}; {_NO_PROOF}"] if row.proof is None else [first, f"regret with a budget: {row.proof}"]


# Tables


def with_tables(text: str) -> str:
    r"""Return a text in Markdown with its tables as the registries have them now, each between a pair of comments.

    Raises
    ------
    InvalidInput
        If a comment asks for an unknown table.

    Examples
    --------
    >>> print(with_tables("<!-- table: memories -->\nan old one\n<!-- end of table -->"))  # doctest: +ELLIPSIS
    <!-- table: memories -->
    <BLANKLINE>
    | name | parameters | what it is |
    | --- | --- | --- |
    | `Window` | `pulls` | ... |
    | `Discount` | `factor` | ... |
    <BLANKLINE>
    <!-- end of table -->
    """
    return _TABLE.sub(lambda found: f"{found[1]}\n\n{_table(found[2])}\n\n{found[3]}", text)


_TABLE: Final = re.compile(r"(<!-- table: ([^\n]*) -->)\n.*?(<!-- end of table -->)", re.DOTALL)
_TABLES: Final[Mapping[str, Registry[Any]]] = {
    "policies": POLICIES,
    "indices": INDICES,
    "beliefs": BELIEFS,
    "oracles": ORACLES,
    "memories": MEMORIES,
    "laws": LAWS,
    "families": FAMILIES,
}


def _table(name: str) -> str:
    registry = choice(name, _TABLES, "table")
    rows = registry.catalogue()
    if registry in _WITH_FACTS:
        return block_markdown(Rows(_FACTS, [_facts_cells(row) for row in rows]))
    return block_markdown(Rows(_PARAMETERS, [[_code(row.name), _code(row.parameters), row.summary] for row in rows]))


_FACTS: Final = ["name", "what it is", "source", "regret with a budget", "for random costs"]
_PARAMETERS: Final = ["name", "parameters", "what it is"]


def _facts_cells(row: CatalogueRow) -> list[str]:
    facts = [row.source or row.origin, row.proof or _NO_PROOF, "yes" if row.random_costs else ""]
    return [_code(row.name), row.summary, *facts]


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def main() -> None:
    """Update the tables in the files that are named on the command line."""
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
