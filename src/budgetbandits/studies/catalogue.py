"""Policies, reward laws and problems by name, with their parameters: what a user's file may ask for.

What there is comes from the registries, which know whatever was registered where it is defined, a user's own included.
Parameters and their defaults are read from the functions and classes themselves.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from budgetbandits.core.registry import Definition
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import POLICIES, Forgetful, Policy
from budgetbandits.policies.beliefs import BELIEFS, Belief
from budgetbandits.policies.indices import INDICES, Index, ScalarIndex
from budgetbandits.policies.memories import MEMORIES
from budgetbandits.policies.oracles import ORACLES, Oracle
from budgetbandits.problems.families import FAMILIES
from budgetbandits.problems.laws import LAWS, Law, SteadyLaw, Switching
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.studies.keys import check_keys, choice, inside, shown, subtable

__all__ = ["make_family", "make_law", "make_policy", "steady_law"]

Made = TypeVar("Made")

_PARTS: Final[Mapping[object, Mapping[str, Definition[object]]]] = {
    Index: INDICES,
    ScalarIndex: INDICES,
    Oracle: ORACLES,
    Belief: BELIEFS,
    Family: FAMILIES,
}
"""What may stand where a parameter is annotated so."""


def make_policy(name: object, parameters: Mapping[str, object], where: str, *, also: Sequence[str] = ()) -> Policy:
    """Make a policy.

    Parameters
    ----------
    name
        What it is registered as; None where the file gives none.
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
    """Make a reward law that is registered, with its parameters as a TOML table holds them.

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
    """Make a problem or a family of them that is registered, with its parameters as a TOML table holds them.

    Examples
    --------
    >>> make_family("wide_range", {"of": {"type": "bernoulli", "arms": 5}, "factor": 4}, "problems.wide")
    WideRange(of=BernoulliFamily(arms=5, mean_max=1.0), factor=4)
    """
    return _made(FAMILIES, "family", name, parameters, where)


def _made(
    kinds: Mapping[str, Definition[Made]],
    selector: str,
    name: object,
    values: Mapping[str, object],
    where: str,
    *,
    also: Sequence[str] = (),
) -> Made:
    """Make one of the kinds; `selector` is the key that names it, beside those of its parameters and others."""
    maker = choice(name, kinds, inside(where, selector)).make
    parameters = inspect.signature(maker, eval_str=True).parameters
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
    if parameter.annotation is SteadyLaw:
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


def steady_law(value: object, where: str) -> SteadyLaw:
    """Make a law that does not change, from a table in a file."""
    table = subtable(value, where, '{ law = "bernoulli", probability = 0.2 }')
    parameters = {key: table[key] for key in table if key != "law"}
    return _made(_steady_laws(), "law", table.get("law"), parameters, where)


def _steady_laws() -> Mapping[str, Definition[SteadyLaw]]:
    laws: Mapping[str, Definition[Any]] = LAWS
    return {name: law for name, law in laws.items() if inspect.isclass(law.make) and issubclass(law.make, SteadyLaw)}


def _part(kinds: Mapping[str, Definition[Made]], value: object, where: str) -> Made:
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
