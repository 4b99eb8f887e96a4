"""A policy of runs from a file whose class is not imported here: its numbers can be used nevertheless."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.errors import InvalidState
from budgetbandits.policies import Policy
from budgetbandits.policies.state import Arms, Now

__all__ = ["UnknownPolicy", "policy_from_data"]


@dataclass(frozen=True)
class UnknownPolicy(Policy):
    """Stands for a policy that cannot be restored here; it is written to files as it was read.

    Attributes
    ----------
    text
        What describes the policy, as JSON.
    reason
        Why it cannot be restored.
    """

    text: str
    reason: str

    def __repr__(self) -> str:
        return f"<UnknownPolicy: {self.reason}>"

    def to_data(self) -> dict[str, Any]:
        """Return what was read."""
        data: dict[str, Any] = json.loads(self.text)
        return data

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Raise: it is not known how this policy decides."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise `InvalidState`, with the class that is missing."""
        raise InvalidState(f"this policy cannot be played: {self.reason}")


def policy_from_data(data: Any) -> Policy:
    """Return the policy that `Policy.to_data` described, or one that stands for it if its class is not known here.

    >>> policy_from_data({"type": "mine.Bold", "share": 0.5})
    <UnknownPolicy: there is no Policy named 'mine.Bold' here: import the module that defines it first>
    """
    try:
        return Policy.from_data(data)
    except InvalidState as error:
        if isinstance(data, Mapping) and isinstance(data.get("type"), str):
            return UnknownPolicy(json.dumps(data), str(error))
        raise
