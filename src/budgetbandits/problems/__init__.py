"""Problems to study policies on: reward and cost laws, arms, families of problems, and what the best policy earns."""

from budgetbandits.problems import families, laws

__all__ = ["families", "laws"]
