"""What runs show: regret with intervals, the paper's bounds, growth laws, and figures."""

from budgetbandits.analysis import bounds
from budgetbandits.core.completion import show_public_names

__all__ = ["bounds"]

show_public_names(bounds)
