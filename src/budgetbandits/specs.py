"""Small frozen values that describe what to do: the base of policies, indices and oracles.

A spec is a frozen dataclass of numbers and other specs, without state and without arm names. Because that is
all it is, it compares by value, goes into JSON and back without running any code, and compiled code can read it.
"""

import dataclasses
import math
from typing import Any, ClassVar, Self

from budgetbandits.errors import InvalidInput, InvalidState

__all__ = ["Spec", "require_positive"]


class Spec:
    """A frozen value with a name under which JSON finds its class again."""

    _classes: ClassVar[dict[str, type["Spec"]]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        Spec._classes[cls.spec_name()] = cls

    @classmethod
    def spec_name(cls) -> str:
        """Return the plain class name for a class of this package, and the full one for a user's."""
        package = __name__.partition(".")[0]
        return cls.__qualname__ if cls.__module__.startswith(f"{package}.") else f"{cls.__module__}.{cls.__qualname__}"

    def to_data(self) -> dict[str, Any]:
        """Return what JSON can hold of this value: its class name and its fields."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore
        return {"type": self.spec_name()} | {
            name: value.to_data() if isinstance(value, Spec) else value for name, value in fields.items()
        }

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Return the value that `to_data` described."""
        ...
