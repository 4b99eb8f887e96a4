"""Problems to study policies on: reward and cost laws, arms, families of problems, and what the best policy earns."""

from budgetbandits.core.completion import show_public_names
from budgetbandits.problems import families, laws

__all__ = ["families", "laws"]

show_public_names(families, laws)
