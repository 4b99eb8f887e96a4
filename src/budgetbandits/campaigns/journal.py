"""The journal of a campaign: what an entry is, and what can be read."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from budgetbandits.campaigns.chain import digest
from budgetbandits.core.checks import ArmName, is_whole

__all__ = ["ArmTerms", "Entry", "Journal", "Kind", "Snapshot", "written"]


class Kind(StrEnum):
    """What an entry says.

    `DIRECTED` is an ask for an arm that the client chose, not the policy. `SETTLED` is the bill of a pull, whose reward
    follows; `EXPIRED` the end of a lease, `ABANDONED` a client's decision to wait no longer; `ADJUSTED` a correction of
    what a pull has cost. `DEPOSITED` and `WITHDRAWN` change the budget; `PAUSED` and `RESUMED` say
    whether pulls are handed out. `ADDED`, `REPRICED`, `LIMITED` and `RETIRED` are about an arm; `OBSERVED` is a
    pull that was made elsewhere. `SNAPSHOT` says that the ledger was kept as it stands there, see `Snapshot`.
    """

    ASKED = "asked"
    DIRECTED = "directed"
    TOLD = "told"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    ABANDONED = "abandoned"
    SETTLED = "settled"
    ADJUSTED = "adjusted"
    RENEWED = "extended"  # the word in every stored journal
    CLOSED = "closed"
    DEPOSITED = "deposited"
    WITHDRAWN = "withdrawn"
    PAUSED = "paused"
    RESUMED = "resumed"
    SNAPSHOT = "snapshot"
    ADDED = "added"
    REPRICED = "repriced"
    LIMITED = "limited"
    RETIRED = "retired"
    OBSERVED = "observed"


class Entry(NamedTuple):
    """One entry of a journal; it is never changed.

    What was spent is the sum of the amounts of those entries that settle or adjust pulls.

    Attributes
    ----------
    number
        1, 2, 3 and so on, without a gap.
    time
        Microseconds since 1970, UTC; never less than that of the entry before.
    kind
        What it says.
    pull
        The pull that it is about, or None if it is about none.
    arm
        The number of the arm.
    amount
        Whole units of money: what was reserved by an ask, deposited or withdrawn; the price of an arm; and what was
        spent by all others, less than nothing where that corrects an amount. With several resources, of the first.
    reward
        The reward that was told.
    until
        When the lease ends, for an ask and for `Kind.RENEWED`; None if it does not.
    key
        The client's key for an ask, a deposit, a withdrawal or observations.
    part, wanted
        Which part of the answer to that ask this pull is, from 0, and how many pulls were wanted; so for observations.
    further
        The amounts of the further resources, in their order, separated by spaces; None if there is one resource.
    note
        Why an amount was corrected, deposited or withdrawn; the digest of a snapshot.
    terms
        What else there is to say about an arm that is added, repriced or limited, as JSON text, see `ArmTerms`.
    actor
        Whose request caused it, where that was said. Nobody causes a lease to end, or a snapshot.
    """

    number: int
    time: int
    kind: Kind
    pull: int | None = None
    arm: int | None = None
    amount: int = 0
    reward: float | None = None
    until: int | None = None
    key: str | None = None
    part: int = 0
    wanted: int = 1
    further: str | None = None
    note: str | None = None
    terms: str | None = None
    actor: str | None = None

    @property
    def amounts(self) -> tuple[int, ...]:
        """The amounts of all resources.

        >>> Entry(1, 0, Kind.ASKED, pull=1, arm=0, amount=10, further="3600 2").amounts
        (10, 3600, 2)
        """
        return (self.amount, *(() if self.further is None else map(int, self.further.split(" "))))

    def odd_fields(self) -> list[str]:
        """Return the names of those fields that say something although an entry of this kind has nothing to say there.

        >>> Entry(2, 0, Kind.TOLD, pull=1, arm=0, amount=10, reward=0.5, key="worker-7").odd_fields()
        ['key']
        """
        return [name for name, default in _UNUSED[self.kind] if getattr(self, name) != default]


_ASK: Final = {"pull", "arm", "amount", "until", "key", "part", "wanted", "further"}
_FUND: Final = {"amount", "further", "key", "note"}
_PRICE: Final = {"arm", "amount", "further", "terms"}
_USED: Final = {
    Kind.ASKED: _ASK,
    Kind.DIRECTED: _ASK,
    Kind.TOLD: {"pull", "arm", "amount", "reward", "further"},
    Kind.CANCELLED: {"pull", "arm"},
    Kind.EXPIRED: {"pull", "arm", "amount", "further"},
    Kind.ABANDONED: {"pull", "arm", "amount", "further"},
    Kind.SETTLED: {"pull", "arm", "amount", "further"},
    Kind.ADJUSTED: {"pull", "arm", "amount", "further", "note"},
    Kind.RENEWED: {"pull", "arm", "until"},
    Kind.CLOSED: set[str](),
    Kind.DEPOSITED: _FUND,
    Kind.WITHDRAWN: _FUND,
    Kind.PAUSED: set[str](),
    Kind.RESUMED: set[str](),
    Kind.SNAPSHOT: {"note"},
    Kind.ADDED: _PRICE,
    Kind.REPRICED: _PRICE,
    Kind.LIMITED: {"arm", "terms"},
    Kind.RETIRED: {"arm"},
    Kind.OBSERVED: {"pull", "arm", "amount", "further", "reward", "key", "part", "wanted"},
}
_CAUSED_BY_NOBODY: Final = (Kind.EXPIRED, Kind.SNAPSHOT)
_UNUSED: Final[Mapping[Kind, list[tuple[str, object]]]] = {
    kind: [
        (name, default)
        for name, default in Entry._field_defaults.items()
        if name not in used and (name != "actor" or kind in _CAUSED_BY_NOBODY)
    ]
    for kind, used in _USED.items()
}


class Snapshot(NamedTuple):
    """A ledger as it stood at some entry, so that a long journal need not be read from its beginning.

    It is no part of the truth, which is the entries. An entry, `Kind.SNAPSHOT`, holds its digest: so it is bound to the
    chain, and one that was changed is not used.

    Attributes
    ----------
    number
        The number of that entry.
    asked
        How many pulls had been asked for.
    contents
        JSON text.
    """

    number: int
    asked: int
    contents: str

    @property
    def digest(self) -> str:
        """What the entry says of it."""
        return digest(self.contents)


class Journal(ABC):
    """What can be read of one campaign: its entries, and the snapshots that were taken of its ledger."""

    @abstractmethod
    def entries(self, after: int, limit: int) -> Sequence[Entry]:
        """Return the first entries with numbers greater than `after`, in order, and no more than `limit`."""

    @abstractmethod
    def of_pull(self, pull: int) -> Sequence[Entry]:
        """Return the entries about a pull, in order. It must not take longer in a longer journal."""

    @abstractmethod
    def of_key(self, key: str) -> Sequence[Entry]:
        """Return the asks with a key, in order. It must not take longer in a longer journal."""

    @abstractmethod
    def snapshot_before(self, number: int) -> Snapshot | None:
        """Return the last snapshot whose number is less than this one."""

    @abstractmethod
    def snapshot_with(self, pull: int) -> Snapshot | None:
        """Return the first snapshot before which this pull was asked for."""


class ArmTerms(NamedTuple):
    """What an entry says about an arm beside its price.

    Attributes
    ----------
    name
        Its name, if it is added.
    limit
        How often it may be pulled; None for as often as there is money.
    least
        What a pull takes at least of each resource; None where that is known, or if all of that is.

    Examples
    --------
    >>> text = ArmTerms("d", least=[5, None]).to_json()
    >>> text
    '{"name":"d","least":[5,null]}'
    >>> ArmTerms.from_json(text)
    ArmTerms(name='d', limit=None, least=[5, None])
    """

    name: ArmName | None = None
    limit: int | None = None
    least: Sequence[int | None] | None = None

    def to_json(self) -> str | None:
        """Return it as it stands in an entry; None if there is nothing to say."""
        said = {name: value for name, value in self._asdict().items() if value is not None}
        return json.dumps(said, separators=(",", ":")) if said else None

    @classmethod
    def from_json(cls, text: str | None) -> Self:
        """Return what `to_json` wrote, or raise a ValueError or TypeError."""
        try:
            terms = cls() if text is None else cls(**json.loads(text))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        numbers = [terms.limit, *(terms.least or ())]
        is_sound = all(number is None or (is_whole(number) and number >= 0) for number in numbers)
        if not is_sound or terms.to_json() != text:
            raise ValueError(f"{text!r} says nothing about an arm")
        return terms


def written(amounts: Sequence[int]) -> dict[str, Any]:
    """Return the fields of an entry that hold the amounts of all resources."""
    first, *further = amounts
    return {"amount": first, "further": " ".join(map(str, further)) or None}
