"""What runs show: regret with intervals, the paper's bounds, growth laws, and figures."""

from budgetbandits.analysis import bounds

__all__ = ["bounds"]
