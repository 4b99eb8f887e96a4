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
    ├── StoreError              something about a store of campaigns, or a campaign in it
    │   ├── StoreUnavailable    it cannot be read or written now: no server, no room, no permission
    │   │   └── OutcomeUnknown  the connection broke during a commit: repeat with the same key
    │   ├── WrongStore          a database of another program, of a newer version, or a damaged one
    │   ├── NoSuchCampaign      (also a LookupError)
    │   ├── CampaignExists      the name is taken
    │   ├── CampaignClosed      it can be changed no more
    │   ├── KeyReused           the key was used before, with other contents
    │   ├── AccessDenied        a service wants a token, another one, or one that allows more
    │   ├── NoSuchToken         (also a LookupError)
    │   ├── TokenExists         a token that is in force has the name
    │   └── JournalDamaged      the journal of a campaign is inconsistent
    │       └── HistoryLost     it no longer has what it said before: a restored copy, or a failover that lost its tail
    ├── OutputError             an output folder or file that cannot be written, or is not ours to write
    ├── NotInstalled            (also an ImportError)  a package that this part needs; the message says what to install
    ├── KnapsackTooHard         the exact knapsack gave up before it could prove an optimum
    └── SimulationInterrupted   (also a KeyboardInterrupt)  Ctrl-C; it carries the runs that were finished

Beside them there are five warnings, `RoundedCostWarning`, `SlowPolicyWarning`, `SlowLawWarning`, `TightBudgetWarning`
and `UnsettledOptimumWarning`.

Each message names the value, the rule that it breaks and the way out. An operation that raises one of these
has changed nothing; `OutcomeUnknown` alone cannot promise that.

>>> from budgetbandits import Learner, kube
>>> Learner(kube(), costs={"a": 1, "b": -2}, budget=10, reward_range=(0, 1))
Traceback (most recent call last):
    ...
budgetbandits.errors.InvalidAmount: cost of arm 'b' is -2: a cost must be greater than 0
"""

__all__ = [
    "AccessDenied",
    "BudgetBanditsError",
    "CampaignClosed",
    "CampaignExists",
    "HistoryLost",
    "InvalidAmount",
    "InvalidInput",
    "InvalidReward",
    "InvalidState",
    "JournalDamaged",
    "KeyReused",
    "KnapsackTooHard",
    "NoSuchCampaign",
    "NoSuchToken",
    "NotInstalled",
    "OutcomeUnknown",
    "OutputError",
    "PolicyError",
    "PullAlreadySettled",
    "PullError",
    "RoundedCostWarning",
    "SimulationInterrupted",
    "SlowLawWarning",
    "SlowPolicyWarning",
    "StoreError",
    "StoreUnavailable",
    "TightBudgetWarning",
    "TokenExists",
    "UnknownPull",
    "UnsettledOptimumWarning",
    "WrongStore",
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


class StoreError(BudgetBanditsError):
    """Something is wrong with a store of campaigns, or with a campaign in it."""


class StoreUnavailable(StoreError):
    """A store cannot be read or written now: no server, no room on the disk, no permission, or a busy database."""


class OutcomeUnknown(StoreUnavailable):
    """The connection broke during a commit: what was asked for was done, or was not."""


class WrongStore(StoreError):
    """A database that holds no campaigns this version can use: another program's, a newer one, or a damaged one."""


class NoSuchCampaign(StoreError, LookupError):
    """A store has no campaign of that name."""


class CampaignExists(StoreError):
    """A store has a campaign of that name already."""


class CampaignClosed(StoreError):
    """A campaign was closed, and takes neither deposits nor other changes."""


class KeyReused(StoreError):
    """A key was used before, with other contents."""


class AccessDenied(StoreError):
    """A service wants a token, knows this one not, or it allows less than was asked for."""


class NoSuchToken(StoreError, LookupError):
    """A store has no such token for its service."""


class TokenExists(StoreError):
    """A store has a token of that name already, which was not revoked."""


class JournalDamaged(StoreError):
    """The journal of a campaign is inconsistent, or does not agree with its totals."""


class HistoryLost(JournalDamaged):
    """A journal no longer has what it said before: a copy was restored, or a failover lost its tail."""


class OutputError(BudgetBanditsError):
    """An output folder or file that cannot be written to, or that belongs to something else."""


class NotInstalled(BudgetBanditsError, ImportError):
    """A part of this package needs another package, which is not installed; the message says how to install it."""


class KnapsackTooHard(BudgetBanditsError):
    """The exact knapsack gave up before it could prove an optimum."""


class RoundedCostWarning(UserWarning):
    """A cost that was told is finer than the unit, and rounding it up charges noticeably more."""


class SlowLawWarning(UserWarning):
    """A law of rewards or costs cannot be compiled, and runs with it are played in plain Python."""


class SlowPolicyWarning(UserWarning):
    """A policy cannot be compiled and runs in plain Python, a hundred times slower or more."""


class TightBudgetWarning(UserWarning):
    """A budget cannot pay even the cheapest arm for all requests."""


class UnsettledOptimumWarning(UserWarning):
    """The search for an exact optimum gave up, and what it found may be a little too low."""


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
