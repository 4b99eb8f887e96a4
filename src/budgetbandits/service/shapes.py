"""What goes in and what comes out: the shapes of bodies, from which the OpenAPI description follows.

What comes in is checked here for its form only; the rules of costs, names and durations are the campaign's own, which
says them better. Amounts of money are text such as "0.25", or whole numbers: a JSON number with a fraction is a float
to most programs, and is refused.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from budgetbandits.core.checks import is_whole
from budgetbandits.core.no_pull import NoPullReason
from budgetbandits.core.pulls import Pull as CorePull

__all__ = [
    "Adjustment",
    "Arm",
    "ArmList",
    "ArmNamed",
    "Ask",
    "Asked",
    "BestSet",
    "Campaign",
    "CampaignList",
    "Explanation",
    "Funding",
    "JournalPage",
    "MoneyShown",
    "NewArm",
    "NewCampaign",
    "NewLimit",
    "NewPrice",
    "NewToken",
    "Nothing",
    "Observations",
    "Pending",
    "ProblemDetails",
    "PullGiven",
    "Renewed",
    "Series",
    "SettleOrSettles",
    "TellOrTells",
    "Token",
    "TokenList",
    "TokenMade",
    "Told",
    "Verification",
    "Verified",
    "Verify",
    "WantedCampaign",
]

MOST_TOLD: Final = 1000
"""Pulls that may be told or settled at once."""

_DEPTH: Final = 4  # of a cost: arms, resources, a range
_LONGEST_NAME: Final = 255
_MOMENT: Final = "2026-11-17T12:00:00.000000Z"


# What comes in


def _amount(value: Any) -> Any:
    if not isinstance(value, str) and not is_whole(value):
        raise PydanticCustomError(
            "amount", "give an amount as text such as '0.25', or as a whole number; a float is not exact"
        )
    return value


def _amounts(value: Any) -> Any:
    """Check that there is no float in an amount, or in amounts by resource."""
    for amount in value.values() if isinstance(value, Mapping) else [value]:
        _amount(amount)
    return value


def _costs(value: Any, depth: int = _DEPTH) -> Any:
    """Check that there is no float in costs of any form."""
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str) and depth:
        for part in value.values() if isinstance(value, Mapping) else value:
            _costs(part, depth - 1)
    elif not isinstance(value, str) and not is_whole(value):
        raise PydanticCustomError(
            "cost",
            'give a cost as text such as "0.25", as a whole number, or as a range such as "0.05..0.25"; a float is not '
            "exact",
        )
    return value


def _arm(value: Any) -> Any:
    if not isinstance(value, str) and not is_whole(value):
        raise PydanticCustomError("arm", "the name of an arm is a text or a whole number")
    return value


def _pull(value: Any) -> int | CorePull:
    """Return the id of a pull, or the whole pull as it was handed out."""
    if is_whole(value):
        return int(value)
    try:
        given = Pull.model_validate(value)
        costs = {name: Decimal(cost) for name, cost in given.costs.items()}
        return CorePull(
            given.id,
            given.arm,
            Decimal(given.cost),
            given.number,
            costs,
            campaign=given.campaign,
            history=given.history,
        )
    except (ValueError, ArithmeticError):
        raise PydanticCustomError("pull", "give the id of a pull, or the pull as it was handed out") from None


def _duration(value: Any) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise PydanticCustomError("duration", "give text such as '10 minutes', or a number of seconds")
    return value


def _limits(value: Any) -> Any:
    given = value.values() if isinstance(value, Mapping) else value
    if not isinstance(value, Mapping | list) or any(isinstance(limit, bool) for limit in given):
        raise PydanticCustomError("limits", "give limits by the names of arms, or one for each arm")
    return value


def _reward_range(value: Any) -> Any:
    is_pair = isinstance(value, list) and len(value) == 2
    if not is_pair or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in value):
        raise PydanticCustomError("reward_range", "give the least and the greatest reward, such as [0, 1]")
    return tuple(value)


def _observation(value: Any) -> Any:
    if not isinstance(value, list) or not 2 <= len(value) <= 3:
        raise PydanticCustomError("observation", "give [arm, reward], or [arm, reward, cost]")
    if len(value) == 3 and value[2] is not None:
        _amounts(value[2])
    return tuple(value)


_AMOUNT: Final = {"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": ["0.25"]}
_BY_RESOURCE: Final = {"type": "object", "additionalProperties": _AMOUNT, "examples": [{"usd": "0.25"}]}
_RANGE: Final = {
    "type": "array",
    "items": _AMOUNT,
    "minItems": 2,
    "maxItems": 2,
    "description": "The least and the greatest cost; the text 0.05..0.25 means the same.",
    "examples": [["0.05", "0.25"]],
}
_COST: Final = {
    "anyOf": [_AMOUNT, _RANGE, {"type": "object", "additionalProperties": {"anyOf": [_AMOUNT, _RANGE]}}],
    "examples": ["0.25", "0.05..0.25", ["0.05", "0.25"]],
}
_ARM: Final = {"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": ["a"]}
_ARM_COSTS: Final = {
    "anyOf": [{"type": "object", "additionalProperties": _COST}, {"type": "array", "items": {}}],
    "description": "Costs by the names of arms, as an object or as pairs [name, cost]; or costs alone, of arms 0, 1...",
    "examples": [{"a": "0.10", "b": "0.25"}],
}
_PULL: Final = {
    "anyOf": [{"type": "integer"}, {"$ref": "#/components/schemas/Pull"}],
    "description": "The id of a pull, or the pull as it was handed out.",
    "examples": [1],
}
_DURATION: Final = {
    "anyOf": [{"type": "string"}, {"type": "number"}],
    "description": "Text such as '10 minutes', or seconds.",
    "examples": ["10 minutes", 600],
}
_LIMIT: Final = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
_LIMITS: Final = {
    "anyOf": [{"type": "object", "additionalProperties": _LIMIT}, {"type": "array", "items": _LIMIT}],
    "description": "How often arms may be pulled, by their names; or one for each, null for no limit.",
    "examples": [{"a": 100}],
}
_REWARD_RANGE: Final = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "maxItems": 2,
    "description": "The least and the greatest reward that there can be.",
    "examples": [[0, 1]],
}
_OBSERVATION: Final = {"type": "array", "items": {}, "minItems": 2, "maxItems": 3, "examples": [["a", 0.5]]}

ArmName = Annotated[Any, AfterValidator(_arm), WithJsonSchema(_ARM)]
Amounts = Annotated[Any, AfterValidator(_amounts), WithJsonSchema({"anyOf": [_AMOUNT, _BY_RESOURCE]})]
Cost = Annotated[Any, AfterValidator(_costs), WithJsonSchema(_COST)]
Costs = Annotated[Any, AfterValidator(_costs), WithJsonSchema(_ARM_COSTS)]
Observation = Annotated[Any, AfterValidator(_observation), WithJsonSchema(_OBSERVATION)]
PullOrId = Annotated[Any, AfterValidator(_pull), WithJsonSchema(_PULL)]
Duration = Annotated[Any, AfterValidator(_duration), WithJsonSchema(_DURATION)]
Limits = Annotated[Any, AfterValidator(_limits), WithJsonSchema(_LIMITS)]
RewardRange = Annotated[Any, AfterValidator(_reward_range), WithJsonSchema(_REWARD_RANGE)]
Key = Annotated[str, Field(description="Makes it repeatable; in place of the header Idempotency-Key.")]
Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
Reason = Annotated[str, Field(description="Why: it stands in the journal.", examples=["invoice 17"])]


class _In(BaseModel):
    """A body that comes in: what it does not know is refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CampaignGiven(_In):
    """What a campaign is made of; see `Store.create`."""

    costs: Costs
    budget: Amounts
    reward_range: RewardRange
    policy: str | dict[str, Any] | None = Field(
        None,
        description="A registered name such as kube, that name with parameters, or a policy as it is shown; the "
        "recommended one by default.",
        examples=[{"name": "kube", "width": 1}],
    )
    seed: int | None = Field(None, examples=[7])
    lease: Duration | None = None
    on_expire: Literal["charge", "release"] = "charge"
    on_overrun: Literal["charge", "refuse"] = "charge"
    unit: Amounts | None = None
    limits: Limits | None = None
    requests: int | None = None
    requests_rate: str | None = Field(None, examples=["500 per day"])
    until: str | None = Field(None, examples=["2027-12-01T00:00:00Z"])
    refill: Duration | None = None
    skip: bool = False


class NewCampaign(CampaignGiven):
    """A campaign to be created."""

    name: Name = Field(examples=["spring"])


class WantedCampaign(CampaignGiven):
    """A campaign that there should be."""

    name: Name | None = Field(None, description="The same as in the path.")


class Ask(_In):
    """What is asked for; nothing at all is one pull of the policy's choice."""

    arm: ArmName | None = None
    n: int | None = Field(None, description="Ask for up to so many pulls at once.", examples=[10])
    wait: Duration | None = Field(None, description="Wait so long for a pull, 30 seconds at most.")
    key: Key | None = None


class PullGiven(_In):
    """Which pull is meant."""

    pull: PullOrId


class Tell(PullGiven):
    """What came of a pull."""

    reward: float = Field(examples=[0.7])
    cost: Amounts | None = Field(None, description="What it cost, if that was not what was reserved.")


class Tells(_In):
    """What came of several pulls."""

    tells: Annotated[list[Tell], Field(max_length=MOST_TOLD)]


def _by_form(many: str) -> Discriminator:
    """Return what tells a body about several things, which has this field, from one about one of them."""
    return Discriminator(lambda body: "many" if isinstance(body, Mapping) and many in body else "one")


TellOrTells = Annotated[Annotated[Tell, Tag("one")] | Annotated[Tells, Tag("many")], _by_form("tells")]
"""One pull, or several."""


class Settle(PullGiven):
    """The bill of a pull."""

    cost: Amounts | None = Field(None, description="What it cost, if that was not what was reserved.")


class Settles(_In):
    """The bills of several pulls."""

    settles: Annotated[list[Settle], Field(max_length=MOST_TOLD)]


SettleOrSettles = Annotated[Annotated[Settle, Tag("one")] | Annotated[Settles, Tag("many")], _by_form("settles")]
"""One pull, or several."""


class Adjustment(PullGiven):
    """What a settled pull has cost after all."""

    cost: Amounts
    reason: Reason


class Funding(_In):
    """Money that is added to the budget, or taken out of it."""

    amount: Amounts
    key: Key | None = None
    reason: Reason | None = None


class Observations(_In):
    """Pulls that were made elsewhere."""

    observations: list[Observation]
    key: Key | None = None


class NewArm(_In):
    """An arm to be added."""

    name: ArmName
    cost: Cost
    limit: int | None = None


class NewPrice(_In):
    """What an arm costs from now on."""

    arm: ArmName
    cost: Cost


class NewLimit(_In):
    """How often an arm may be pulled in all; null for as often as there is money."""

    arm: ArmName
    limit: int | None


class ArmNamed(_In):
    """Which arm is meant."""

    arm: ArmName


class Verify(_In):
    """How to verify a journal."""

    expect: list[str] = Field([], max_length=1000, description="Heads that the chain must have had.")


class NewToken(_In):
    """A token to be made."""

    name: Name = Field(examples=["worker-7"])
    scope: Literal["read", "work", "admin"]
    campaign: Name | None = Field(None, description="The only campaign that it is for.")


class Nothing(_In):
    """There is nothing to say."""


# What comes out


class ProblemDetails(BaseModel):
    """What is wrong, as in RFC 9457."""

    type: str = Field(examples=["urn:budgetbandits:error:no-such-campaign"])
    title: str = Field(examples=["No such campaign"])
    status: int = Field(examples=[404])
    detail: str = Field(
        examples=["there is no campaign named 'autumn' in the store: create it, or see which there are"]
    )


ArmShown = Annotated[str | int, Field(union_mode="left_to_right")]
Infinite = Annotated[float | Literal["Infinity"], Field(description="A number, or 'Infinity'.")]


class Pull(BaseModel):
    """A pull that was handed out."""

    id: int
    arm: ArmShown
    cost: str = Field(examples=["0.10"])
    costs: dict[str, str] = Field({}, description="By resource, where they have names.")
    number: int
    state: Literal["new", "open", "told", "cancelled", "expired", "settled"] = "open"
    campaign: str | None = Field(None, examples=["spring#5f2a90c1"])
    history: str | None = Field(
        None, description="The journal at its ask: it is refused by another one.", examples=["7d793037a0760186"]
    )


class Asked(BaseModel):
    """The pulls that were handed out; if they are fewer than asked for, also why."""

    pulls: list[Pull]
    reason: NoPullReason | None = Field(description="Why there are fewer; null if there are not.")
    is_final: bool | None = Field(description="Stop asking if true, wait if false; null without a reason.")
    detail: str | None = Field(description="The reason in words; null without a reason.")


class Told(BaseModel):
    """What there is to say about what was told."""

    warnings: list[str]


class ManyTold(BaseModel):
    """What became of each: it was told, or there is a problem."""

    results: list[Told | ProblemDetails]


class Renewed(BaseModel):
    """When the lease ends; null where there are none."""

    until: str | None = Field(examples=[_MOMENT])


class Changed(BaseModel):
    """What there is to say about a change: whether requests may go unanswered from now on."""

    warnings: list[str]


class Done(BaseModel):
    """It was done, and there is no more to say."""


class Money(BaseModel):
    """What became of a budget, exactly."""

    budget: str = Field(examples=["1000.00"])
    spent: str
    reserved: str
    left: str
    overrun: str


class MoneyShown(BaseModel):
    """What became of the budget, of each resource where they have names, and what of it has come so far."""

    money: Money
    resources: dict[str, Money]
    available: str
    resources_available: dict[str, str]


class RequestRate(BaseModel):
    """How many requests come."""

    declared: float
    estimated: float
    period: float = Field(description="In seconds.")
    until: str = Field(examples=[_MOMENT])
    requests_left: int


class CampaignRow(BaseModel):
    """A campaign in a list. With several resources, its money is the first; null if its settings are damaged."""

    name: str
    created: str = Field(examples=[_MOMENT])
    budget: str | None
    spent: str | None
    reserved: str | None
    entries: int
    is_closed: bool


class CampaignList(BaseModel):
    """The campaigns that the token may see, the oldest first."""

    campaigns: list[CampaignRow]


CostShown = Annotated[
    str | list[str] | dict[str, str | list[str]], Field(description="An amount, or the least and the greatest.")
]


class Arm(BaseModel):
    """What is known of an arm."""

    name: ArmShown
    cost: CostShown
    mean_cost: str = Field(description="An amount: on average so far, of the first resource.", examples=["0.1"])
    pulls: int
    told: float = Field(description="How many rewards the policy remembers.")
    mean: float | None
    low: float | None = Field(description="The mean lies between low and high, with 95% confidence.")
    high: float | None
    upper_bound: Infinite
    density: Infinite | None
    spent: str = Field(description="What its settled pulls cost, of the first resource.")
    limit: int | None
    is_retired: bool


class ArmList(BaseModel):
    """The arms."""

    arms: list[Arm]


class Choice(BaseModel):
    """An arm that may be pulled next."""

    arm: ArmShown
    count: float
    probability: float


class BestSet(BaseModel):
    """The present solution of the policy's oracle, the likeliest arm first."""

    best_set: list[Choice]


class PendingPull(Pull):
    """An outstanding pull with its lease."""

    age: float = Field(description="In seconds.")
    until: str | None = Field(examples=[_MOMENT])
    actor: str | None


class Pending(BaseModel):
    """The outstanding pulls, the oldest first."""

    pending: list[PendingPull]


class Campaign(BaseModel):
    """All that a campaign shows of one moment."""

    name: str
    created: str = Field(examples=[_MOMENT])
    policy: dict[str, Any]
    seed: int
    reward_range: list[float]
    lease: float | None = Field(description="In seconds.")
    on_expire: Literal["charge", "release"]
    on_overrun: Literal["charge", "refuse"]
    skip: bool
    requests: int | None
    requests_left: int | None
    requests_rate: RequestRate | None
    refill: float | None = Field(description="In seconds.")
    available: str
    resources_available: dict[str, str]
    money: Money
    resources: dict[str, Money]
    pulls: int
    reward_total: float
    is_closed: bool
    is_paused: bool
    retired: list[ArmShown]
    entries: int
    head: str
    adopted: int
    warnings: list[str] = Field([], description="What there is to say about one that was created.")
    arms: list[Arm] | None = Field(None, description="If they are included.")
    best_set: list[Choice] | None = Field(None, description="If it is included.")
    pending: list[PendingPull] | None = Field(None, description="If they are included.")


class ArmThen(BaseModel):
    """What the policy knew of an arm at an ask."""

    name: ArmShown
    cost: str = Field(description="An amount: what it was taken to cost, of the first resource.", examples=["0.1"])
    pulls: int
    mean: float | None
    upper_bound: Infinite
    density: Infinite | None
    probability: float
    cost_exact: CostShown


class Explanation(BaseModel):
    """Why an arm was pulled."""

    pull: int
    arm: ArmShown
    entry: int
    time: str = Field(examples=[_MOMENT])
    is_directed: bool = Field(description="Whether the client chose the arm.")
    draw: float = Field(description="By which a policy that draws did so.")
    money: Money
    skip_probability: float
    arms: list[ArmThen]


class Entry(BaseModel):
    """An entry of the journal."""

    number: int
    time: str = Field(examples=[_MOMENT])
    kind: str = Field(examples=["asked"])
    pull: int | None
    arm: ArmShown | None
    amount: str
    reward: float | None
    key: str | None
    note: str | None
    terms: str | None
    actor: str | None
    amounts: dict[str, str]


class JournalPage(BaseModel):
    """A part of the journal; `next` is what to give as `after` for the next one, null at the end."""

    entries: list[Entry]
    next: int | None


class ResourcePoint(BaseModel):
    """How a resource stood."""

    spent: str
    reserved: str
    left: str


class Point(ResourcePoint):
    """How the campaign stood after an entry."""

    time: str = Field(examples=[_MOMENT])
    entry: int
    pulls: int
    reward_total: float
    resources: dict[str, ResourcePoint] = Field({}, description="By name, where they have names.")


class Series(BaseModel):
    """Money over time: at the creation first, and now at the end."""

    points: list[Point]


class Totals(BaseModel):
    """What a journal adds up to, in whole units of the campaign: 28 are "0.28" where its unit is "0.01"."""

    entries: int
    spent: int
    reserved: int
    overrun: int
    is_closed: bool
    further: str | None
    head: str
    budget: int


class Verified(BaseModel):
    """The journal is sound."""

    verified: Literal[True]
    at: str = Field(examples=[_MOMENT])
    entries: int
    head: str
    totals: Totals


class Verification(BaseModel):
    """When the journal was last verified by this service, and what came of it."""

    state: Literal["never", "running", "sound", "damaged"]
    at: str | None = Field(examples=[_MOMENT])
    entries: int | None
    head: str | None
    detail: str | None


class Token(BaseModel):
    """A token, without its secret."""

    id: int
    name: str
    scope: Literal["read", "work", "admin"]
    campaign: str | None
    created: str | None = Field(examples=[_MOMENT])
    last_used: str | None = Field(examples=[_MOMENT])
    revoked: str | None


class TokenList(BaseModel):
    """All tokens, also those that were revoked."""

    tokens: list[Token]


class TokenMade(Token):
    """A new token, with its secret: it is shown once."""

    token: str = Field(examples=["bb_..."])
