"""Policies, reward laws and problems by name, with their parameters: what a user's file may ask for.

Parameters, their defaults and what a policy does are read from the functions and classes themselves. Policies are the
functions of `policies.named`; a new index, oracle, law or family needs one line here.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from budgetbandits.core.specs import Spec
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import Forgetful, IndexPolicy, Policy, named
from budgetbandits.policies.indices import (
    CUCB,
    IUCB,
    KLUCB,
    KLUCBSC,
    MOSS,
    MUCB,
    UCB1,
    UCBB2,
    UCBBV1,
    UCBBV2,
    UCBSC,
    UCBV,
    BayesUCB,
    BudgetUCB,
    Index,
    KLUCBPlus,
    KLUCBPlusPlus,
    LearnedRangeKLUCB,
    Mean,
    OmegaUCB,
    OptimisticRatio,
    PrimalDual,
    ScalarIndex,
    TwoMomentKLUCB,
    UCBTuned,
)
from budgetbandits.policies.memories import Discount, Memory, Window
from budgetbandits.policies.oracles import CostBlind, DensityGreedy, Exact, Fractional, Oracle
from budgetbandits.problems.families import (
    BernoulliFamily,
    BetaFamily,
    GaussianFamily,
    JackpotFamily,
    RandomCostFamily,
    WideRange,
)
from budgetbandits.problems.laws.changing import Drifting, Law, Seasonal, Switching
from budgetbandits.problems.laws.steady import Bernoulli, Beta, Empirical, RewardLaw, TruncatedGaussian, Uniform
from budgetbandits.problems.problem import Family, Problem, paper_family, sensor_problem
from budgetbandits.studies.keys import check_keys, choice, inside, shown, subtable

__all__ = [
    "FAMILIES",
    "INDICES",
    "LAWS",
    "MEMORIES",
    "ORACLES",
    "POLICIES",
    "Entry",
    "entries",
    "listing",
    "make_family",
    "make_law",
    "make_policy",
    "steady_law",
]

Made = TypeVar("Made")


def index_policy(index: Index, oracle: Oracle, clip: bool = False, lazy: bool = False) -> IndexPolicy:
    """Any index (what is a pull worth?) with any oracle (what should the budget left buy?).

    Examples
    --------
    >>> index_policy(UCB1(0.5), Exact()).oracle
    Exact()
    """
    return IndexPolicy(index, oracle, clip, lazy)


POLICIES: Final[Mapping[str, Callable[..., Policy]]] = {
    **{name: value for name, value in vars(named).items() if name in named.__all__},
    "index_policy": index_policy,
}
INDICES: Final[Mapping[str, Callable[..., Index]]] = {
    "UCB1": UCB1,
    "Mean": Mean,
    "UCBV": UCBV,
    "UCBTuned": UCBTuned,
    "MOSS": MOSS,
    "OmegaUCB": OmegaUCB,
    "KLUCB": KLUCB,
    "KLUCBPlus": KLUCBPlus,
    "KLUCBPlusPlus": KLUCBPlusPlus,
    "TwoMomentKLUCB": TwoMomentKLUCB,
    "LearnedRangeKLUCB": LearnedRangeKLUCB,
    "BayesUCB": BayesUCB,
    "OptimisticRatio": OptimisticRatio,
    "UCBBV1": UCBBV1,
    "UCBBV2": UCBBV2,
    "BudgetUCB": BudgetUCB,
    "IUCB": IUCB,
    "CUCB": CUCB,
    "MUCB": MUCB,
    "UCBSC": UCBSC,
    "KLUCBSC": KLUCBSC,
    "UCBB2": UCBB2,
    "PrimalDual": PrimalDual,
}
ORACLES: Final[Mapping[str, Callable[..., Oracle]]] = {
    "DensityGreedy": DensityGreedy,
    "Fractional": Fractional,
    "Exact": Exact,
    "CostBlind": CostBlind,
}
MEMORIES: Final[Mapping[str, Callable[..., Memory]]] = {"Window": Window, "Discount": Discount}
STEADY_LAWS: Final[Mapping[str, Callable[..., RewardLaw]]] = {
    "bernoulli": Bernoulli,
    "uniform": Uniform,
    "beta": Beta,
    "truncated_gaussian": TruncatedGaussian,
    "empirical": Empirical,
}
LAWS: Final[Mapping[str, Callable[..., Law]]] = {
    **STEADY_LAWS,
    "switching": Switching,
    "drifting": Drifting,
    "seasonal": Seasonal,
}
FAMILIES: Final[Mapping[str, Callable[..., Problem | Family]]] = {
    "paper": paper_family,
    "bernoulli": BernoulliFamily,
    "beta": BetaFamily,
    "gaussian": GaussianFamily,
    "jackpot": JackpotFamily,
    "wide_range": WideRange,
    "random_costs": RandomCostFamily,
    "sensor": sensor_problem,
}

_PARTS: Final[Mapping[object, Mapping[str, Callable[..., object]]]] = {
    Index: INDICES,
    ScalarIndex: INDICES,
    Oracle: ORACLES,
    Family: FAMILIES,
}
"""What may stand where a parameter is annotated so."""


# Making


def make_policy(name: object, parameters: Mapping[str, object], where: str, *, also: Sequence[str] = ()) -> Policy:
    """Make a policy.

    Parameters
    ----------
    name
        One of `POLICIES`; None where the file gives none.
    parameters
        As a TOML table holds them. An index or an oracle is a table with a `type`, or the name alone. Any policy may
        have a `memory` beside its own parameters.
    where
        The path of the table, for messages.
    also
        What else the table may hold, for messages.

    Examples
    --------
    >>> make_policy("epsilon_first", {"epsilon": 0.1, "exploit": "Fractional"}, "policies.mine")
    EpsilonFirst(epsilon=0.1, exploit=Fractional())
    >>> make_policy("thompson", {"memory": {"type": "Window", "pulls": 1000}}, "policies.mine")
    Forgetful(policy=Thompson(lazy=False, coin=False), memory=Window(pulls=1000))
    >>> make_policy("kube", {"width": -1}, "policies.K")
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidInput: policies.K.width is -1: it must be greater than 0 and finite; 1 is the proved one
    """
    own = {key: value for key, value in parameters.items() if key != "memory"}
    policy = _made(POLICIES, "policy", name, own, where, also=["memory", *also])
    if "memory" not in parameters:
        return policy
    return Forgetful(policy, _part(MEMORIES, parameters["memory"], inside(where, "memory")))


def make_law(name: object, parameters: Mapping[str, object], where: str) -> Law:
    """Make a reward law: one of `LAWS`, with its parameters as a TOML table holds them.

    Examples
    --------
    >>> make_law("uniform", {"low": 0.2, "high": 0.8}, "arms[0].reward")
    Uniform(low=0.2, high=0.8)
    >>> make_law("bernoulli", {"probability": 2}, "arms[0].reward")
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidInput: arms[0].reward.probability is 2.0: it must lie in [0, 1]
    """
    return _made(LAWS, "law", name, parameters, where)


def make_family(name: object, parameters: Mapping[str, object], where: str) -> Problem | Family:
    """Make a problem or a family of them: one of `FAMILIES`, with its parameters as a TOML table holds them.

    Examples
    --------
    >>> make_family("wide_range", {"of": {"type": "bernoulli", "arms": 5}, "factor": 4}, "problems.wide")
    WideRange(of=BernoulliFamily(arms=5, mean_max=1.0), factor=4)
    """
    return _made(FAMILIES, "family", name, parameters, where)


def _made(
    kinds: Mapping[str, Callable[..., Made]],
    selector: str,
    name: object,
    values: Mapping[str, object],
    where: str,
    *,
    also: Sequence[str] = (),
) -> Made:
    """Make one of the kinds; `selector` is the key that names it, beside those of its parameters and others."""
    maker = choice(name, kinds, inside(where, selector))
    parameters = inspect.signature(maker).parameters
    required = [key for key, parameter in parameters.items() if parameter.default is parameter.empty]
    check_keys(values, where, allowed=[selector, *parameters, *also], required=required)
    arguments = {key: _argument(parameters[key], value, inside(where, key)) for key, value in values.items()}
    try:
        return maker(**arguments)
    except InvalidInput as error:
        raise InvalidInput(_located(str(error), maker, where)) from error


def _argument(parameter: inspect.Parameter, value: object, where: str) -> object:
    if parameter.annotation is bool:
        return value
    if parameter.annotation is RewardLaw:
        return steady_law(value, where)
    if parameter.annotation == _PIECES:
        return _pieces(value, where)
    kinds = _PARTS.get(parameter.annotation)
    return _unconfused(value, where) if kinds is None else _part(kinds, value, where)


_PIECES: Final = inspect.signature(Switching).parameters["pieces"].annotation


def _pieces(value: object, where: str) -> list[tuple[object, Law]]:
    """Return the pieces of a law that switches: in a file, laws with a `from` each."""
    example = '{ from = 1, law = "bernoulli", probability = 0.2 }'
    if not isinstance(value, list):
        raise InvalidInput(f"{where} is {shown(value)}: give a list of laws, such as [{example}]")
    tables = [subtable(entry, f"{where}[{position}]", example) for position, entry in enumerate(value)]
    pieces: list[tuple[object, Law]] = []
    for position, table in enumerate(tables):
        place = f"{where}[{position}]"
        parameters = {key: table[key] for key in table if key not in ("from", "law")}
        if "from" not in table:
            raise InvalidInput(f"{place}.from is missing: give the first pull number of the piece")
        pieces.append((table["from"], make_law(table.get("law"), parameters, place)))
    return pieces


def steady_law(value: object, where: str) -> RewardLaw:
    """Make a law that does not change, from a table in a file."""
    table = subtable(value, where, '{ law = "bernoulli", probability = 0.2 }')
    return _made(STEADY_LAWS, "law", table.get("law"), {key: table[key] for key in table if key != "law"}, where)


def _part(kinds: Mapping[str, Callable[..., Made]], value: object, where: str) -> Made:
    if not isinstance(value, Mapping):
        choice(value, kinds, where)  # a mistake in a bare name is one of this key, not of a `type` below it
        value = {"type": value}
    parameters = {key: value[key] for key in value if key != "type"}
    return _made(kinds, "type", value.get("type"), parameters, where)


def _unconfused(value: object, where: str) -> object:
    """Return a value for its maker to check, unless it is one that the maker would take for a number."""
    if any(isinstance(entry, bool) for entry in (value if isinstance(value, list) else [value])):
        raise InvalidInput(f"{where} is {shown(value)}: give numbers, not true or false")
    return value


def _located(message: str, maker: Callable[..., object], where: str) -> str:
    """Return a maker's message with the key in place of the parameter's bare name."""
    told = message.removeprefix(f"{maker.__name__}: ")
    begins_with_parameter = re.split(r"\W", told)[0] in inspect.signature(maker).parameters
    return f"{where}.{told}" if begins_with_parameter else f"{where}: {told}"


# Listing


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that a file may ask for by name.

    Attributes
    ----------
    kind, name
        "policy", "index", "oracle", "memory", "law" or "family", and its name in a file.
    parameters
        Those that it has, with their defaults.
    summary
        What it is or does.
    """

    kind: str
    name: str
    parameters: str
    summary: str


_SECTIONS: Final[Mapping[str, tuple[str, Mapping[str, Callable[..., object]]]]] = {
    "policy": ('Policies: in [policies.ANY-NAME], policy = "kube" and its parameters', POLICIES),
    "index": ('Indices, for index_policy: index = { type = "UCB1", width = 0.5 }', INDICES),
    "oracle": ('Oracles, for index_policy and epsilon_first: oracle = "Exact"', ORACLES),
    "memory": ('Memories, for any policy: memory = { type = "Window", pulls = 1000 }', MEMORIES),
    "law": ('Laws of rewards and costs: in [[arms]], reward = { law = "bernoulli", probability = 0.2 }', LAWS),
    "family": ('Problems for compare: in [problems.ANY-NAME], family = "bernoulli" and its parameters', FAMILIES),
}


def entries() -> Table[Entry]:
    """Return all that a file may ask for by name.

    >>> [entry.parameters for entry in entries() if entry.name == "epsilon_first"]
    ['epsilon, exploit = "DensityGreedy"']
    """
    return Table(
        Entry(kind, name, _parameters_text(maker), _summary(maker))
        for kind, (_, makers) in _SECTIONS.items()
        for name, maker in makers.items()
    )


def listing() -> str:
    """Return all that a file may ask for by name, as text to read.

    >>> print(listing().partition("fractional_kube")[0])
    Policies: in [policies.ANY-NAME], policy = "kube" and its parameters
    <BLANKLINE>
      kube (width = 1.0)
          KUBE: the upper confidence bounds of UCB1 with the density-ordered greedy (paper, Algorithm 1).
    """
    everything = entries()
    return "\n\n".join(
        "\n".join([title, "", *(_lines(entry) for entry in everything if entry.kind == kind)])
        for kind, (title, _) in _SECTIONS.items()
    )


def _lines(entry: Entry) -> str:
    head = f"{entry.name} ({entry.parameters})" if entry.parameters else entry.name
    return f"  {head}\n      {entry.summary}"


def _parameters_text(maker: Callable[..., object]) -> str:
    parameters = inspect.signature(maker).parameters.values()
    return ", ".join(
        parameter.name if parameter.default is parameter.empty else f"{parameter.name} = {_toml(parameter.default)}"
        for parameter in parameters
    )


def _toml(default: Any) -> str:
    """Return a default as a file would say it."""
    return json.dumps(default.to_data()["type"] if isinstance(default, Spec) else default)


def _summary(maker: Callable[..., object]) -> str:
    first_line = (inspect.getdoc(maker) or "").partition("\n")[0]
    return re.sub(r"; see `\w+`", "", first_line)
