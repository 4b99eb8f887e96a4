"""Small frozen values that say what to do: the base of policies, indices and oracles.

A spec is a frozen dataclass of numbers and other specs, without state and without arm names. Because that is
all it is, it compares by value, goes into JSON and back without running any code, and compiled code can read it.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any, Self

from budgetbandits.errors import InvalidInput, InvalidState

__all__ = ["Spec", "classes_of", "is_packaged_throughout", "require", "require_flag", "require_spec"]

_LARGEST = 1e100  # squares of parameters stay finite
_PACKAGE = __name__.partition(".")[0]


@dataclasses.dataclass(frozen=True)
class Spec:
    """A frozen value whose class JSON finds again by name.

    Examples
    --------
    >>> from budgetbandits.policies.indices import UCB1
    >>> UCB1(width=0.5).to_data()
    {'type': 'UCB1', 'width': 0.5}
    >>> Spec.from_data({"type": "UCB1", "width": 0.5})
    UCB1(width=0.5)
    """

    __slots__ = ()  # so that classes of which there are a million instances can do without a dictionary in each

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _CLASSES[cls.spec_name()] = cls

    @classmethod
    def spec_name(cls) -> str:
        """Return the plain class name for a class of this package, and the full one for a user's."""
        return cls.__qualname__ if cls.is_packaged() else f"{cls.__module__}.{cls.__qualname__}"

    @classmethod
    def is_packaged(cls) -> bool:
        """Tell whether this is a class of this package, and not a user's."""
        return cls.__module__.startswith(f"{_PACKAGE}.")

    def to_data(self) -> dict[str, Any]:
        """Return this value as a dictionary that JSON can hold."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"type": self.spec_name()} | {
            name: value.to_data() if isinstance(value, Spec) else value for name, value in values.items()
        }

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Return the value that `to_data` described; a user's class must have been imported before."""
        if not isinstance(data, Mapping) or "type" not in data:
            raise InvalidState(f"{data!r} describes no {cls.__name__}: it must be an object with a 'type'")
        name = data["type"]
        found = _CLASSES.get(name) if isinstance(name, str) else None
        if found is None or not issubclass(found, cls):
            raise InvalidState(
                f"there is no {cls.__name__} named {name!r} here: import the module that defines it first"
            )
        values = {
            key: Spec.from_data(value) if isinstance(value, Mapping) else value
            for key, value in data.items()
            if key != "type"
        }
        try:
            return found(**values)
        except TypeError as error:
            raise InvalidState(f"{name!r} cannot be restored from {dict(data)!r}: {error}") from error


def classes_of(spec: Spec) -> Iterator[type[Spec]]:
    """Return the class of a spec and of all specs in its fields, with what these classes inherit from."""
    yield from (cls for cls in type(spec).__mro__ if issubclass(cls, Spec))
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        if isinstance(value, Spec):
            yield from classes_of(value)


def is_packaged_throughout(spec: Spec) -> bool:
    """Tell whether all parts of a spec are of this package: a user's may read variables that change."""
    return all(cls.is_packaged() for cls in classes_of(spec))


_CLASSES: dict[str, type[Spec]] = {}
"""All specs by name. Not a field of theirs: a class that is sent to another process would take it along."""


def require(
    value: float,
    what: str,
    rule: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> None:
    """Raise unless a number lies between the limits; NaN and what is no number never do."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{what} is {value!r}: give an int or a float; {rule}")
    if not (above < value < below and at_least <= value <= at_most and abs(value) <= _LARGEST):
        raise InvalidInput(f"{what} is {value!r}: {rule}")


def require_spec(value: object, what: str, kind: type[Spec]) -> None:
    """Raise unless the value is of that kind of spec."""
    if not isinstance(value, kind):
        raise InvalidInput(f"{what} is {value!r}: it must be an instance of {kind.__name__}")


def require_flag(value: object, what: str) -> None:
    """Raise unless the value is true or false."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} is {value!r}: it must be True or False")
