"""Every exception this package raises on purpose.

::

    BudgetBanditsError
    ├── InvalidInput            (also a ValueError)   a value breaks a rule
    │   ├── InvalidAmount       a cost or a budget that is not a usable sum of money
    │   ├── InvalidReward       a reward that is not a number in the declared range
    │   └── InvalidState        saved text that cannot be restored
    ├── PullError               a pull that cannot be settled
    │   ├── UnknownPull         (also a LookupError)  this learner never handed it out
    │   └── PullAlreadySettled  it was told or cancelled before
    ├── PolicyError             a policy broke its contract (say, chose an arm it cannot pay)
    ├── OutputError             an output folder or file that cannot be written, or is not ours to write
    ├── KnapsackTooHard         the exact knapsack gave up before it could prove an optimum
    └── SimulationInterrupted   (also a KeyboardInterrupt)  Ctrl-C; it carries the runs that were finished

Beside them there is one warning, `SlowPolicyWarning`.

Each message names the value, the rule that it breaks and the way out. An operation that raises one of these
has changed nothing.

>>> from budgetbandits import Learner, kube
>>> Learner(kube(), costs={"a": 1, "b": -2}, budget=10, reward_range=(0, 1))
Traceback (most recent call last):
    ...
budgetbandits.errors.InvalidAmount: cost of arm 'b' is -2: a cost must be greater than 0
"""

__all__ = [
    "BudgetBanditsError",
    "InvalidAmount",
    "InvalidInput",
    "InvalidReward",
    "InvalidState",
    "KnapsackTooHard",
    "OutputError",
    "PolicyError",
    "PullAlreadySettled",
    "PullError",
    "SimulationInterrupted",
    "SlowPolicyWarning",
    "UnknownPull",
]


class BudgetBanditsError(Exception):
    """The root of all errors of this package."""


class InvalidInput(BudgetBanditsError, ValueError):
    """A value that was given breaks a rule."""


class InvalidAmount(InvalidInput):
    """A cost or a budget that is not a usable sum of money."""


class InvalidReward(InvalidInput):
    """A reward that is not a number in the declared range."""


class InvalidState(InvalidInput):
    """Saved text that cannot be restored: damaged, of another version, or naming something unknown here."""


class PullError(BudgetBanditsError):
    """A pull that cannot be settled."""


class UnknownPull(PullError, LookupError):
    """A pull that was never handed out."""


class PullAlreadySettled(PullError):
    """A pull that was told or cancelled before."""


class PolicyError(BudgetBanditsError):
    """A policy broke its contract: for example it chose an arm that the budget left cannot pay."""


class OutputError(BudgetBanditsError):
    """An output folder or file that cannot be written to, or that belongs to something else."""


class KnapsackTooHard(BudgetBanditsError):
    """The exact knapsack gave up before it could prove an optimum."""


class SlowPolicyWarning(UserWarning):
    """A policy cannot be compiled and runs in plain Python, a hundred times slower or more."""


class SimulationInterrupted(BudgetBanditsError, KeyboardInterrupt):
    """A simulation was stopped by Ctrl-C; an ``except Exception`` catches this, too.

    Attributes
    ----------
    runs
        What was finished by then: whole runs, all policies and budgets.
    """

    def __init__(self, message: str, runs: object) -> None:
        super().__init__(message)
        self.runs = runs
