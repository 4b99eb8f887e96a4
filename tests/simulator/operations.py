"""What clients ask of a campaign, and what they must be answered.

An operation is one small class: how it is sent, which rows of the journal it may cause, and what the answer must be,
given the model as it stands with all rows up to the answer. To add one, write the class and give it a weight in
`KINDS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

import budgetbandits as bb
from budgetbandits.campaigns.backend import Totals
from budgetbandits.campaigns.journal import Entry
from budgetbandits.core.no_pull import Pulls
from budgetbandits.errors import (
    CampaignClosed,
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    KeyReused,
    PullAlreadySettled,
    PullError,
    UnknownPull,
)
from simulator.model import COSTS, Model, ModelPull, Terms, Units, check


class Sent(NamedTuple):
    """What is known of a request that was answered.

    Attributes
    ----------
    wrote
        The pulls of the rows that it has caused.
    time
        What the clock said, or the time of the last row if it was set back.
    is_cut
        Whether it took several transactions: if one of them failed, what was handed out before is the answer.
    """

    wrote: list[int]
    time: int
    is_cut: bool


class Operation(ABC):
    """A request to a campaign."""

    is_refused = False  # whatever there is
    heads: tuple[str, ...] = ()  # that it expects to be there

    @property
    def most(self) -> int:
        """How many rows it may cause, beside those of pulls that expire."""
        return 1

    @abstractmethod
    def send(self, ads: bb.Campaign, terms: Terms) -> object:
        """Let a campaign do it, and return the answer."""

    @abstractmethod
    def causes(self, entry: Entry) -> bool:
        """Tell whether it may cause a row of the journal."""

    def explains(self, entry: Entry, model: Model) -> bool:
        """Tell whether it may cause a row of the journal that stands as in the model."""
        return self.causes(entry)

    def caused_by_answer(self, answer: object) -> int:
        """Return how many rows it can have caused if this was the answer."""
        return self.most

    @abstractmethod
    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        """Raise unless an answer, or the type of an error, is right.

        Parameters
        ----------
        answer
            What the client was told.
        model
            How the campaign stood then.
        sent
            What else is known of this very request.
        """


@dataclass(frozen=True)
class Ask(Operation):
    """The next pulls, or those that the key had before."""

    key: str | None
    wanted: int
    arm: str | None = None

    @property
    def most(self) -> int:
        return self.wanted

    def send(self, ads: bb.Campaign, terms: Terms) -> object:
        return ads.ask(key=self.key, n=self.wanted, arm=self.arm)

    def causes(self, entry: Entry) -> bool:
        kind = "asked" if self.arm is None else "directed"
        return (entry.kind, entry.key, entry.wanted) == (kind, self.key, self.wanted)

    def caused_by_answer(self, answer: object) -> int:
        return sum(pull.state == "new" for pull in answer) if isinstance(answer, list) else 0

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        if sent.is_cut and answer == []:
            return  # there was nothing to be had in the first transaction, whatever came before the last one
        is_begun = sent.is_cut and bool(sent.wrote)  # what was handed out stands, whatever came before the next part
        if self.key in model.keys:
            wanted, pulls = model.keys[self.key]
            arms = {model.pulls[number].arm for number in pulls}
            if wanted != self.wanted or (self.arm is not None and arms != {self.arm}):
                check(answer is KeyReused, self, "was answered", answer, "though the key was another's")
                return
            check(isinstance(answer, list), self, "was answered", answer, "though the key had", pulls)
        elif self.key in model.changes:
            check(answer is KeyReused, self, "was answered", answer, "though the key was a deposit's or the like")
            return
        elif (halted := model.halted(sent.time)) is not None and not is_begun:
            missing = answer.missing if isinstance(answer, Pulls) else None
            is_said = missing is not None and missing.reason == halted
            if halted == "paused" and missing is not None and missing.is_final:  # nor could a pull come after the pause
                self._check_end(model, self.wanted, sent.time)
                is_said = True
            check(answer == [] and is_said, self, "was answered", answer, "though the campaign was", halted)
            return
        else:
            pulls = sent.wrote
        check(isinstance(answer, Pulls), self, "was answered", answer)
        if isinstance(answer, Pulls):
            is_explained = (answer.missing is not None) == (len(answer) < self.wanted)
            check(is_explained, self, "was answered", answer, "with", answer.missing)
        if isinstance(answer, list) and sent.is_cut and sent.wrote:
            pulls = pulls[: len(answer)]
        self._check_pulls(answer, pulls, model, sent.wrote)
        if pulls == sent.wrote and not sent.is_cut:
            self._check_end(model, self.wanted - len(pulls), sent.time)

    def _check_pulls(self, answer: Any, pulls: list[int], model: Model, wrote: list[int]) -> None:
        check([pull.id for pull in answer] == pulls, self, "was answered", answer, "and the journal has", pulls)
        for pull in answer:
            known = model.pulls[pull.id]
            price = model.terms.given(known.price)
            first = price[next(iter(price))] if model.terms.named else price
            expected = bb.Pull(pull.id, known.arm, first, known.place, price if model.terms.named else {})
            check(pull == expected, self, "was answered", pull, "and it is", expected)
            state = "new" if wrote else model.state_of(known)
            check(pull.state == state, self, "was answered", repr(pull.state), "and it is", state)

    def _check_end(self, model: Model, missing: int, time: int) -> None:
        """Fewer pulls than wanted are right only if no arm can be pulled."""
        arms, by_name = ([*model.limits, bb.SKIP], False) if self.arm is None else ([self.arm], True)
        left = [arm for arm in arms if missing and model.can_pull(arm, missing, time, by_name=by_name)]
        check(not left, self, "got", missing, "too few, though", left, "can be pulled")


@dataclass(frozen=True)
class OfPull(Operation):
    """Something about one pull. The rows that it causes are of one kind."""

    pull: int
    kind = ""

    def causes(self, entry: Entry) -> bool:
        return (entry.kind, entry.pull) == (self.kind, self.pull)

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        pull = model.pulls.get(self.pull)
        expected = UnknownPull if pull is None else self.expected(pull, model)
        answer = None if self.kind == "extended" and not isinstance(answer, type) else answer
        check(answer is expected, self, "was answered", answer, "instead of", expected, "though", pull)

    @abstractmethod
    def expected(self, pull: ModelPull, model: Model) -> type[Exception] | None:
        """Return the error that must be the answer, or None; the pull is as it is after the answer."""


@dataclass(frozen=True)
class Tell(OfPull):
    """The reward of a pull, and perhaps its cost; also one that was told or settled before, or has expired."""

    reward: float
    cost: Units | None
    kind = "told"

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        ads.tell(self.pull, self.reward, None if self.cost is None else terms.given(self.cost))

    @property
    def most(self) -> int:
        return 2  # a cost that is told late is a bill

    def causes(self, entry: Entry) -> bool:
        is_bill = (entry.kind, entry.pull) == ("settled", self.pull) and self.cost is not None
        return is_bill or (super().causes(entry) and entry.reward == self.reward)

    def explains(self, entry: Entry, model: Model) -> bool:
        if not self.causes(entry) or entry.kind == "told":
            return self.causes(entry)
        pull = model.pulls.get(self.pull)
        return pull is not None and pull.state == "expired" and pull.held_with(entry) == self.cost

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        pull = model.pulls.get(self.pull)
        is_told_without_bill = pull is not None and pull.state == "told late" and pull.bill is None
        is_corrected = is_told_without_bill and pull is not None and pull.reason is not None and self.cost is not None
        if not is_corrected or sent.wrote or answer not in (None, PullAlreadySettled):
            super().check_answer(answer, model, sent)  # else what was corrected may be taken for what was told

    def expected(self, pull: ModelPull, model: Model) -> type[Exception] | None:
        cost = pull.price if self.cost is None else self.cost
        is_possible = model.can_have_cost(pull, cost)
        if not 0 <= self.reward <= 1 or (pull.arm == bb.SKIP and self.reward != 0):
            return InvalidReward
        if pull.state == "told":
            return None if pull.told == (self.reward, cost) else PullAlreadySettled
        if pull.state == "told late":
            was = pull.held if pull.bill is None else pull.bill
            is_same = pull.told is not None and pull.told[0] == self.reward and self.cost in (None, was)
            return None if is_same else PullAlreadySettled
        if pull.state == "cancelled" or (pull.state == "settled" and self.cost not in (None, pull.bill)):
            return PullAlreadySettled
        is_late = pull.state == "expired"
        if not is_possible or (is_late and self.cost is not None and not model.has_room_for(pull, cost)):
            return InvalidAmount
        check(is_late and not model.can_count_again(pull), self, "was not taken, and the pull is still", pull)
        return PullError


@dataclass(frozen=True)
class Settle(OfPull):
    """A bill before its reward."""

    cost: Units | None
    kind = "settled"

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        ads.settle(self.pull, None if self.cost is None else terms.given(self.cost))

    def explains(self, entry: Entry, model: Model) -> bool:
        pull = model.pulls.get(self.pull)
        if pull is None or not self.causes(entry) or pull.state not in ("open", "expired"):
            return False
        charged = entry.amounts if pull.state == "open" else pull.held_with(entry)
        return charged == self._bill(pull)

    def _bill(self, pull: ModelPull) -> Units:
        return pull.price if self.cost is None else self.cost

    def expected(self, pull: ModelPull, model: Model) -> type[Exception] | None:
        if not model.can_have_cost(pull, self._bill(pull)):
            return InvalidAmount
        if pull.state == "expired" and not model.has_room_for(pull, self._bill(pull)):
            return InvalidAmount
        if pull.state == "expired" and not model.can_count_again(pull):
            return PullError
        check(pull.state not in ("open", "expired"), self, "was not taken, and the pull is still", pull)
        is_same = pull.state in ("settled", "told late") and pull.bill == self._bill(pull)
        return None if is_same else PullAlreadySettled


@dataclass(frozen=True)
class Expire(OfPull):
    """A pull that is not waited for any more."""

    kind = "abandoned"

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        ads.expire(self.pull)

    def expected(self, pull: ModelPull, model: Model) -> type[Exception] | None:
        check(pull.state != "open", self, "was not taken, and the pull is still", pull)
        is_charged = pull.expiry == "abandoned" or (pull.expiry == "expired" and model.terms.on_expire == "charge")
        return None if is_charged else PullAlreadySettled


@dataclass(frozen=True)
class Adjust(OfPull):
    """A better bill."""

    cost: Units
    kind = "adjusted"

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        ads.adjust(self.pull, terms.given(self.cost), reason="a better bill")

    def explains(self, entry: Entry, model: Model) -> bool:
        # Of two bills that may have come, only one makes it cost that.
        if not self.causes(entry) or self.pull not in model.pulls:
            return False
        return self.cost == model.pulls[self.pull].held_with(entry)

    def expected(self, pull: ModelPull, model: Model) -> type[Exception] | None:
        if pull.state == "open":
            return PullError
        if not (model.can_have_cost(pull, self.cost) and model.has_room_for(pull, self.cost)):
            return InvalidAmount
        check(pull.held == self.cost, self, "was not taken, and the pull is still", pull)
        return None


@dataclass(frozen=True)
class Cancel(OfPull):
    """A pull that was not made."""

    kind = "cancelled"

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        ads.cancel(self.pull)

    def expected(self, pull: ModelPull, model: Model) -> type[Exception] | None:
        check(pull.state != "open", self, "was not taken, and the pull is still", pull)
        return None if pull.state == "cancelled" else PullAlreadySettled


@dataclass(frozen=True)
class Renew(OfPull):
    """A pull that takes longer."""

    kind = "extended"

    def send(self, ads: bb.Campaign, terms: Terms) -> object:
        return ads.renew(self.pull)

    def expected(self, pull: ModelPull, model: Model) -> type[Exception] | None:
        return None if pull.state == "open" else PullAlreadySettled


@dataclass(frozen=True)
class Close(Operation):
    """The end."""

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        ads.close()

    def causes(self, entry: Entry) -> bool:
        return entry.kind == "closed"

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        check(answer is None and model.is_closed, self, "was answered", answer)


@dataclass(frozen=True)
class Fund(Operation):
    """A deposit, or a withdrawal."""

    verb: str
    amounts: Units
    key: str

    def send(self, ads: bb.Campaign, terms: Terms) -> object:
        return getattr(ads, self.verb)(terms.given(self.amounts), key=self.key)

    def causes(self, entry: Entry) -> bool:
        kind = "deposited" if self.verb == "deposit" else "withdrawn"
        return (entry.kind, entry.key, entry.amounts) == (kind, self.key, self.amounts)

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        expected = self._expected(model)
        check(answer is expected, self, "was answered", answer, "instead of", expected, "with", model.left(), "left")

    def _expected(self, model: Model) -> type[Exception] | None:
        if not any(self.amounts):
            return InvalidAmount
        if self.key in model.keys or self.key in model.changes:
            return None if model.funds.get(self.key) == (self.verb, self.amounts) else KeyReused
        if model.is_closed and self.verb == "deposit":
            return CampaignClosed
        check(not model.can_fund(self.verb, self.amounts), self, "was not done")
        return InvalidAmount


@dataclass(frozen=True)
class Price(Operation):
    """A new arm, or another price of one that there is."""

    adds: bool
    arm: str
    prices: Units
    limit: int | None

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        if self.adds:
            ads.add_arm(self.arm, terms.given(self.prices), limit=self.limit)
        else:
            ads.reprice(self.arm, terms.given(self.prices))

    def causes(self, entry: Entry) -> bool:
        return (entry.kind, entry.amounts) == ("added" if self.adds else "repriced", self.prices)

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        expected = self._expected(model)
        check(answer is expected, self, "was answered", answer, "instead of", expected)

    def _expected(self, model: Model) -> type[Exception] | None:
        is_there = self.arm in model.limits
        is_same = is_there and model.prices[self.arm] == self.prices
        is_same = is_same and (not self.adds or model.limits[self.arm] == self.limit)
        if not self.adds and not is_there:
            return InvalidInput
        if not model.can_cost(self.prices):
            return InvalidAmount
        if self.adds and is_there and not is_same:
            return InvalidInput
        if model.is_closed and not is_same:
            return CampaignClosed
        check(is_same, self, "was not done")
        return None


@dataclass(frozen=True)
class Limit(Operation):
    """How often an arm may be pulled, or that it is pulled no more."""

    arm: str
    limit: int | None

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        if self.limit == 0:
            ads.retire(self.arm)
        else:
            ads.set_limit(self.arm, self.limit)

    def causes(self, entry: Entry) -> bool:
        return entry.kind == ("retired" if self.limit == 0 else "limited")

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        expected = self._expected(model)
        check(answer is expected, self, "was answered", answer, "instead of", expected)

    def _expected(self, model: Model) -> type[Exception] | None:
        if self.arm not in model.limits:
            return InvalidInput
        if model.limits[self.arm] == self.limit:
            return None
        check(model.is_closed, self, "was not done")
        return CampaignClosed


@dataclass(frozen=True)
class Observe(Operation):
    """Pulls that were made elsewhere."""

    rows: tuple[tuple[str, float], ...]
    key: str

    @property
    def most(self) -> int:
        return len(self.rows)

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        ads.observe(self.rows, key=self.key)

    def causes(self, entry: Entry) -> bool:
        is_own = (entry.kind, entry.key, entry.wanted) == ("observed", self.key, len(self.rows))
        return is_own and entry.reward == self.rows[entry.part][1]

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        expected = self._expected(model)
        check(answer is expected, self, "was answered", answer, "instead of", expected)

    def _expected(self, model: Model) -> type[Exception] | None:
        if any(arm not in model.limits for arm, _ in self.rows):
            return InvalidInput
        if self.key in model.keys or self.key in model.changes:
            return None if model.observed.get(self.key) == list(self.rows) else KeyReused
        check(model.is_closed, self, "was not done")
        return CampaignClosed


@dataclass(frozen=True)
class Pause(Operation):
    """No pulls for a while, or again."""

    pauses: bool

    def send(self, ads: bb.Campaign, terms: Terms) -> None:
        (ads.pause if self.pauses else ads.resume)()

    def causes(self, entry: Entry) -> bool:
        return entry.kind == ("paused" if self.pauses else "resumed")

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        check(answer is None and model.is_paused == self.pauses, self, "was answered", answer)


@dataclass(frozen=True)
class Nonsense(Operation):
    """What must be refused."""

    number: int
    is_refused = True

    def send(self, ads: bb.Campaign, terms: Terms) -> object:
        wrong: list[Callable[[], object]] = [
            lambda: ads.ask(n=0),
            lambda: ads.tell(10**9, 0.5),
            lambda: ads.ask(arm="z"),
            lambda: ads.ask(key=""),
        ]
        return wrong[self.number % len(wrong)]()

    def causes(self, entry: Entry) -> bool:
        return False

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        is_refused = isinstance(answer, type) and issubclass(answer, InvalidInput | UnknownPull)
        check(is_refused, self, "was answered", answer)


@dataclass(frozen=True)
class Verify(Operation):
    """A check of the whole journal, and that it still has the heads that were kept."""

    heads: tuple[str, ...]

    def send(self, ads: bb.Campaign, terms: Terms) -> object:
        return ads.verify(self.heads)

    def causes(self, entry: Entry) -> bool:
        return False

    def check_answer(self, answer: object, model: Model, sent: Sent) -> None:
        check(set(self.heads) <= set(model.heads), self, "was answered", answer, "though a head is lost")
        check(isinstance(answer, Totals) and answer._asdict() == model.totals(), answer, "is not", model.totals())


class Dice:
    """Draws operations: new ones, and such about pulls that there are, lately asked for or long settled."""

    def __init__(self, chance: Random, client: str) -> None:
        self._chance = chance
        self._client = client
        self._keys = 0
        self._last: dict[str, Operation] = {}

    def operation(self, campaign: str, model: Model) -> Operation:
        """Return the next request to a campaign: sometimes the last one again."""
        if campaign not in self._last or self._chance.random() >= 0.1:
            [make] = self._chance.choices(list(KINDS), list(KINDS.values()))
            self._last[campaign] = make(self, model)
        return self._last[campaign]

    def ask(self, model: Model) -> Operation:
        self._keys += 1
        wanted = self._chance.choice([1, 1, 1, 1, 1, 2, 3])
        arm = self._chance.choice([*COSTS, bb.SKIP]) if self._chance.random() < 0.05 else None
        if arm == bb.SKIP and not model.terms.skip:
            arm = "a"
        return Ask(f"{self._client}/{self._keys}" if self._chance.random() < 0.9 else None, wanted, arm)

    def ask_with_old_key(self, model: Model) -> Operation:
        keys = list(model.keys)[-30:] or [f"{self._client}/0"]
        return Ask(self._chance.choice(keys), self._chance.choice([1, 1, 2]))

    def tell(self, model: Model) -> Operation:
        return Tell(self._pull(model), self._chance.choice([0.0, 0.25, 0.5, 1.0]), self._cost(model, 0.2))

    def tell_wrongly(self, model: Model) -> Operation:
        return Tell(self._pull(model), 1.5, None)

    def settle(self, model: Model) -> Operation:
        return Settle(self._pull(model), self._cost(model, 0.7))

    def expire(self, model: Model) -> Operation:
        return Expire(self._pull(model))

    def adjust(self, model: Model) -> Operation:
        return Adjust(self._pull(model, 0.2), self._cost(model, 1.0) or model.terms.nothing)

    def cancel(self, model: Model) -> Operation:
        return Cancel(self._pull(model))

    def renew(self, model: Model) -> Operation:
        return Renew(self._pull(model))

    def close(self, model: Model) -> Operation:
        return Close() if model.asked > 300 else self.ask(model)

    def fund(self, model: Model) -> Operation:
        self._keys += 1
        most = self._chance.choice([(300, 20, 20), (0, 5, 5)])
        amounts = tuple(self._chance.randint(0, limit) for limit, _ in zip(most, model.budgets, strict=False))
        old = self._chance.choice([*list(model.funds)[-3:], *list(model.keys)[-1:], None, None, None])
        return Fund(self._chance.choice(["deposit", "withdraw"]), amounts, old or f"{self._client}/{self._keys}")

    def price(self, model: Model) -> Operation:
        most = (40, 3, 2)
        prices = tuple(self._chance.randint(0, limit) for limit, _ in zip(most, model.budgets, strict=False))
        adds, arm = self._chance.random() < 0.3, self._chance.choice(["a", "c", "d", "e"])
        return Price(adds, arm, prices, self._chance.choice([None, 40]) if adds else None)

    def limit(self, model: Model) -> Operation:
        return Limit(self._chance.choice(["a", "b", "c", "d"]), self._chance.choice([None, None, None, 0, 1, 500]))

    def observe(self, model: Model) -> Operation:
        self._keys += 1
        old = self._chance.choice([*list(model.observed)[-3:], *list(model.keys)[-1:], None, None, None])
        arms, rewards = ["a", "b", "c", "d"], [0.0, 0.25, 1.0]
        count = self._chance.choice([1, 2, 5])
        rows = tuple((self._chance.choice(arms), self._chance.choice(rewards)) for _ in range(count))
        if old in model.observed and self._chance.random() < 0.7:
            rows = tuple(model.observed[old])
        return Observe(rows, old or f"{self._client}/{self._keys}")

    def pause(self, model: Model) -> Operation:
        return Pause(not model.is_paused) if self._chance.random() < 0.3 else Pause(False)

    def nonsense(self, model: Model) -> Operation:
        return Nonsense(self._chance.randrange(12))

    def _pull(self, model: Model, outstanding: float = 0.8) -> int:
        if model.outstanding and self._chance.random() < outstanding:
            return self._chance.choice(list(model.outstanding))
        return self._chance.randint(max(1, model.asked - 19), model.asked + 1)

    def _cost(self, model: Model, how_often: float) -> Units | None:
        if self._chance.random() >= how_often:
            return None
        most = self._chance.choice([(10, 2, 1), (30, 2, 3)])
        return tuple(self._chance.randint(0, limit) for limit, _ in zip(most, model.terms.budgets, strict=False))


KINDS: Final[dict[Callable[[Dice, Model], Operation], float]] = {
    Dice.ask: 38,
    Dice.ask_with_old_key: 4,
    Dice.tell: 40,
    Dice.tell_wrongly: 1,
    Dice.settle: 10,
    Dice.expire: 4,
    Dice.adjust: 4,
    Dice.cancel: 4,
    Dice.renew: 4,
    Dice.fund: 2,
    Dice.price: 0.5,
    Dice.limit: 0.5,
    Dice.observe: 1,
    Dice.pause: 1,
    Dice.nonsense: 1,
    Dice.close: 0.05,
}
