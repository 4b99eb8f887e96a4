"""What is defined under a name, with everything that there is to say about it, said where it is defined.

Each kind of thing (policies, indices, oracles, memories, laws, families, store backends) has one `Registry`. Study
files, lists of leaderboards, the command line, the tables of the documentation, the benchmarks and the contract tests
all read from it. Its decorator leaves the class or function as it is:

>>> PATHS: Registry[list[int]] = Registry("path")
>>> @PATHS.register(source="Somebody 2026", usual={"length": 3})
... def stairs(length: int, step: int = 1) -> list[int]:
...     '''A path that rises by the same step each time.'''
...     return [step * number for number in range(length)]
>>> PATHS["stairs"].make(2), PATHS["stairs"].example()
([0, 1], [0, 1, 2])
>>> PATHS["stairs"].origin, PATHS["stairs"].parameters, PATHS["stairs"].summary
('published', 'length, step = 1', 'A path that rises by the same step each time.')
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, TypeVar

from budgetbandits.core.specs import Spec
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidInput

__all__ = ["CatalogueRow", "Definition", "Origin", "Registry", "definition_of"]

Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)
Maker = TypeVar("Maker", bound=Callable[..., Any])

Origin = Literal["published", "own"]
"""Whether a thing was published, or is the idea of who defined it."""


@dataclass(frozen=True, eq=False)
class Definition(Generic[Made_co]):
    """A thing that was registered.

    Attributes
    ----------
    name
        What files call it.
    make
        The class or function that makes it from its parameters.
    source
        Where it was published, in short, such as "Auer et al. 2002"; None if it was not.
    proof
        What is proved of it; None if nothing is.
    random_costs
        Whether it is made for random costs.
    usual
        Values for the parameters that have no default.
    """

    name: str
    make: Callable[..., Made_co]
    source: str | None
    proof: str | None
    random_costs: bool
    usual: Mapping[str, object]

    @property
    def origin(self) -> Origin:
        """Whether it was published, or is the own idea of who defined it."""
        return "own" if self.source is None else "published"

    @property
    def summary(self) -> str:
        """What it is: the first line of its docstring."""
        first_line = (inspect.getdoc(self.make) or "").partition("\n")[0]
        return re.sub(r"; see `\w+`", "", first_line)

    @property
    def parameters(self) -> str:
        """Its parameters with their defaults, as a study file writes them."""
        parameters = inspect.signature(self.make).parameters.values()
        return ", ".join(
            parameter.name if parameter.default is parameter.empty else f"{parameter.name} = {_toml(parameter.default)}"
            for parameter in parameters
        )

    def example(self) -> Made_co:
        """Make one with the usual values."""
        return self.make(**self.usual)

    def row(self) -> "CatalogueRow":
        """Return what there is to say about it."""
        told = (self.origin, self.source, self.proof, self.random_costs)
        return CatalogueRow(self.name, self.parameters, *told, self.summary)


@dataclass(frozen=True, slots=True)
class CatalogueRow:
    """A registered thing in a table.

    Attributes
    ----------
    name, parameters
        What a study file calls it, and its parameters with their defaults.
    origin
        "published", or "own": the idea of who defined it.
    source, proof
        Where it was published, and what is proved of it; None if there is nothing to say.
    random_costs
        Whether it is made for random costs.
    summary
        What it is.
    """

    name: str
    parameters: str
    origin: Origin
    source: str | None
    proof: str | None
    random_costs: bool
    summary: str


class Registry(Mapping[str, Definition[Made]]):
    """All things of one kind by name, in the order of their definition.

    Parameters
    ----------
    kind
        What they are, for messages.
    """

    def __init__(self, kind: str) -> None:
        self.kind: Final = kind
        self._definitions: dict[str, Definition[Made]] = {}

    def __getitem__(self, name: str) -> Definition[Made]:
        return self._definitions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    def register(
        self,
        name: str | None = None,
        *,
        source: str | None = None,
        proof: str | None = None,
        random_costs: bool = False,
        usual: Mapping[str, object] | None = None,
        by: type | None = None,
    ) -> Callable[[Maker], Maker]:
        """Register the class or function that follows, which makes such a thing from its parameters.

        Parameters
        ----------
        name
            What files call it; by default the name of the class or function.
        source
            Where it was published, in short; leave it out for an idea of your own.
        proof
            What is proved of it; leave it out if nothing is.
        random_costs
            Whether it is made for random costs.
        usual
            Values for the parameters that have no default.
        by
            The class that decides: the index of a policy, or the class of a policy that has none. If it is registered
            itself, what is left out here is as it says.

        Raises
        ------
        InvalidInput
            If another definition has the name, a class leaves out what it has to define, or a parameter has neither a
            default nor a usual value.
        """
        told = _DEFINITIONS.get(by)
        if told is not None:
            source, proof, random_costs = source or told.source, proof or told.proof, random_costs or told.random_costs

        def registered(make: Maker) -> Maker:
            values = MappingProxyType(dict(usual or {}))
            definition = Definition(name or make.__name__, make, source, proof, random_costs, values)
            self._check(definition)
            self._definitions[definition.name] = definition
            _DEFINITIONS.setdefault(make, definition)
            if by is not None:
                _DEFINITIONS.setdefault(by, definition)
            return make

        return registered

    def _check(self, new: Definition[Made]) -> None:
        old = self._definitions.get(new.name)
        # The same place again is a module that was reloaded, or a cell of a notebook that was run again.
        if old is not None and _place(old) != _place(new):
            raise InvalidInput(
                f"{self.kind} {new.name!r} is defined twice, by {_place(old)} and by {_place(new)}: "
                "register one of them under another name"
            )
        if missing := sorted(getattr(new.make, "__abstractmethods__", ())):
            raise InvalidInput(
                f"{self.kind} {new.name!r} does not say its {missing[0]!r}: define {', '.join(missing)} in the class"
            )
        parameters = inspect.signature(new.make).parameters
        for key, parameter in parameters.items():
            if parameter.default is parameter.empty and key not in new.usual:
                raise InvalidInput(
                    f"{self.kind} {new.name!r} has a parameter {key!r} without a default: register a usual value "
                    f"for it, as in usual={{{key!r}: ...}}"
                )
        for key in new.usual:
            if key not in parameters:
                raise InvalidInput(
                    f"{self.kind} {new.name!r} has a usual value for {key!r}, which is no parameter of it: "
                    f"its parameters are {', '.join(parameters) or 'none'}"
                )

    def catalogue(self) -> Table[CatalogueRow]:
        """Return what there is to say about each of them, as a table."""
        return Table(definition.row() for definition in self.values())


_DEFINITIONS: Final[dict[object, Definition[Any]]] = {}
"""What was registered of a class or function; for a class that was not, the first thing that it decides for."""


def definition_of(thing: object) -> Definition[Any] | None:
    """Return what is registered of a class or function, or None.

    >>> import budgetbandits as bb
    >>> definition_of(bb.indices.MOSS).source
    'Audibert and Bubeck 2009'
    """
    return _DEFINITIONS.get(thing)


def _place(definition: Definition[Any]) -> str:
    return f"{definition.make.__module__}.{definition.make.__qualname__}"


def _toml(default: Any) -> str:
    """Return a default as a study file would say it."""
    return json.dumps(default.to_data()["type"] if isinstance(default, Spec) else default)
