"""What goes in and what comes out: the shapes of bodies, from which the OpenAPI description follows.

What comes in is checked here for its form only; the rules of costs, names and durations are the campaign's own, which
says them better. Amounts of money are text such as "0.25", or whole numbers: a JSON number with a fraction is a float
to most programs, and is refused.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from budgetbandits.core.checks import is_whole

__all__ = [
    "Ask",
    "Asked",
    "Campaign",
    "CampaignList",
    "NewCampaign",
    "ProblemDetails",
    "PullGiven",
    "Tell",
    "Told",
]

_DEPTH: Final = 4  # of a cost: arms, resources, a range
_EXACT: Final = "give an amount as text such as '0.25', or as a whole number; a float is not exact"


def _amount(value: Any) -> Any:
    if not isinstance(value, str) and not is_whole(value):
        raise PydanticCustomError("amount", _EXACT)
    return value


def _amounts(value: Any) -> Any:
    """Check that there is no float in amounts by name."""
    for amount in value.values() if isinstance(value, Mapping) else [value]:
        _amount(amount)
    return value


def _costs(value: Any, depth: int = _DEPTH) -> Any:
    """Check that there is no float in costs of any form."""
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str) and depth:
        for part in value.values() if isinstance(value, Mapping) else value:
            _costs(part, depth - 1)
    else:
        _amount(value)
    return value


def _arm(value: Any) -> Any:
    if not isinstance(value, str) and not is_whole(value):
        raise PydanticCustomError("arm", "the name of an arm is a text or a whole number")
    return value


_AMOUNT: Final = {"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": ["0.25"]}
_BY_RESOURCE: Final = {"type": "object", "additionalProperties": _AMOUNT, "examples": [{"usd": "0.25"}]}
_RANGE: Final = {"type": "array", "items": _AMOUNT, "minItems": 2, "maxItems": 2, "examples": [["0.05", "0.25"]]}
_COST: Final = {
    "anyOf": [_AMOUNT, _RANGE, {"type": "object", "additionalProperties": {"anyOf": [_AMOUNT, _RANGE]}}],
    "examples": ["0.25", ["0.05", "0.25"]],
}
_ARM: Final = {"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": ["a"]}
_ARM_COSTS: Final = {
    "anyOf": [{"type": "object", "additionalProperties": _COST}, {"type": "array", "items": {}}],
    "examples": [{"a": "0.10", "b": "0.25"}],
}

Arm = Annotated[Any, AfterValidator(_arm), WithJsonSchema(_ARM)]
Amounts = Annotated[Any, AfterValidator(_amounts), WithJsonSchema({"anyOf": [_AMOUNT, _BY_RESOURCE]})]
Cost = Annotated[Any, AfterValidator(_costs), WithJsonSchema(_COST)]
Costs = Annotated[Any, AfterValidator(_costs), WithJsonSchema(_ARM_COSTS)]
Key = Annotated[str, Field(max_length=255, description="Makes the request repeatable.")]
Duration = Annotated[
    str | float, Field(description="Text such as '10 minutes', or seconds.", union_mode="left_to_right")
]
PullId = Annotated[int, Field(description="The id of a pull.", examples=[1])]


class _In(BaseModel):
    """A body that comes in: what it does not know is refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewCampaign(_In):
    """A campaign to be created; see `Store.create`."""

    name: str = Field(max_length=255, examples=["spring"])
    costs: Costs
    budget: Amounts
    reward_range: Annotated[list[float], Field(min_length=2, max_length=2, examples=[[0, 1]])]
    policy: dict[str, Any] | None = Field(
        None,
        description="A policy as it is shown, or a registered name with parameters; the recommended one by default.",
        examples=[{"name": "kube", "width": 1}],
    )
    seed: int | None = None
    lease: Duration | None = None
    on_expire: Literal["charge", "release"] = "charge"
    on_overrun: Literal["charge", "refuse"] = "charge"
    unit: Amounts | None = None
    limits: dict[str, int | None] | list[int | None] | None = None
    requests: int | None = None
    requests_rate: str | None = Field(None, examples=["500 per day"])
    until: str | None = Field(None, examples=["2027-12-01T00:00:00Z"])
    refill: Duration | None = None
    skip: bool = False


class Ask(_In):
    """What is asked for; nothing at all is one pull of the policy's choice."""

    arm: Arm | None = None
    n: int | None = Field(None, description="Ask for up to so many pulls at once.", examples=[10])
    wait: Duration | None = Field(None, description="Wait so long for a pull, 30 seconds at most.")
    key: Key | None = None


class Tell(_In):
    """What came of a pull."""

    pull: PullId
    reward: float = Field(examples=[0.7])
    cost: Amounts | None = None


class PullGiven(_In):
    """Which pull is meant."""

    pull: PullId


class ProblemDetails(BaseModel):
    """What is wrong, as in RFC 9457."""

    type: str = Field(examples=["urn:budgetbandits:error:no-such-campaign"])
    title: str = Field(examples=["No such campaign"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["there is no campaign named 'autumn': create it, or see list()"])


class Pull(BaseModel):
    """A pull that was handed out."""

    id: int
    arm: str | int
    cost: str = Field(examples=["0.10"])
    costs: dict[str, str]
    number: int
    state: Literal["new", "open", "told", "cancelled", "expired"]
    campaign: str | None = Field(examples=["spring#5f2a90c1"])


class Asked(BaseModel):
    """The pulls that were handed out; none if there is no money for one, or not now."""

    pulls: list[Pull]


class Told(BaseModel):
    """What there is to say about a pull that was told."""

    warnings: list[str]


class Nothing(BaseModel):
    """It was done, and there is no more to say."""


class Money(BaseModel):
    """What became of a budget, exactly."""

    budget: str = Field(examples=["1000.00"])
    spent: str
    reserved: str
    left: str
    overrun: str


class RequestRate(BaseModel):
    """How many requests come."""

    declared: float
    estimated: float
    period: float = Field(description="In seconds.")
    until: str
    requests_left: int


class CampaignRow(BaseModel):
    """A campaign in a list; its money is null if its settings are damaged."""

    name: str
    created: str = Field(examples=["2026-11-17T12:00:00.000000Z"])
    budget: str | None
    spent: str | None
    reserved: str | None
    entries: int
    is_closed: bool


class CampaignList(BaseModel):
    """All campaigns that the token may see, the oldest first."""

    campaigns: list[CampaignRow]


class Campaign(BaseModel):
    """All that a campaign shows of one moment."""

    name: str
    created: str = Field(examples=["2026-11-17T12:00:00.000000Z"])
    policy: dict[str, Any]
    seed: int
    reward_range: list[float]
    lease: float | None = Field(description="In seconds.")
    on_expire: str
    on_overrun: str
    skip: bool
    requests: int | None
    requests_left: int | None
    requests_rate: RequestRate | None
    refill: float | None = Field(description="In seconds.")
    available: str
    money: Money
    resources: dict[str, Money]
    pulls: int
    reward_total: float
    is_closed: bool
    is_paused: bool
    retired: list[str | int]
    entries: int
    head: str
    adopted: int
