"""The pages of the reference: every public name, read from the package, so that no list has to be kept by hand.

Two directives, in reStructuredText as docstrings are:

``.. public-names:: budgetbandits.indices``
    A table of all public names of a namespace, and what their docstrings say; with ``:rooms: live core`` only those
    that are defined in these rooms of the house, and with ``:overview:`` the table alone.
``.. public-types::``
    The types that the signatures of public names speak of without being public names themselves: what comes back, and
    what may be given.

A name of the front door that a further namespace has as well, such as ``bb.kube``, is described there.
"""

import ast
import inspect
import pydoc
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import budgetbandits
from budgetbandits.core.registry import Registry
from sources import assignments, definition_of, named_in

FRONT_DOOR: Final = "budgetbandits"
ALSO_PUBLIC: Final = ("budgetbandits.testing",)
"""What is imported by its whole name, since it takes packages that are not for everyone."""
FEW: Final = 5
"""So many methods can be seen without a table of them."""


class Described(NamedTuple):
    """Something with a description in the reference: where it is found, and what it is."""

    path: str
    value: Any

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition(".")[2]

    @property
    def room(self) -> str:
        """The folder of the package in which it is defined."""
        return self.defined_in.split(".")[1]

    @property
    def defined_in(self) -> str:
        """The module in which it is defined."""
        return str(self.value.__module__) if has_docstring(self.value) else assignments()[self.name].module

    @property
    def summary(self) -> str:
        """The first line of what is said about it."""
        said = inspect.getdoc(self.value) if has_docstring(self.value) else assignments()[self.name].doc
        return (said or "").partition("\n")[0]

    def description(self) -> str:
        """Return the directive that describes it."""
        if inspect.isclass(self.value):
            return self.description_of_class()
        if inspect.isroutine(self.value):
            return f".. autofunction:: {self.path}\n"
        assigned = assignments()[self.name]
        kind, option = ("type", "canonical") if is_type(self.value) else ("data", "value")
        options = f"   :module: {self.path.rpartition('.')[0]}\n   :{option}: {assigned.value}\n"
        return f".. py:{kind}:: {self.name}\n{options}\n{textwrap.indent(assigned.doc, '   ')}\n"

    def description_of_class(self) -> str:
        """Return the directive that describes a class, with a table of its members if they are many."""
        kind = "exception" if issubclass(self.value, BaseException) else "class"
        bases = "   :show-inheritance:\n" if self.value.__base__ is not object else ""
        others = ", ".join(each.__name__ for each in set(self.value.__mro__) - described_with(self.value))
        members = self.members()
        table = textwrap.indent(table_of(members), "   ") if len(members) > FEW else ""
        return f".. auto{kind}:: {self.path}\n   :members:\n   :inherited-members: {others}\n{bases}\n{table}\n"

    def members(self) -> "list[Described]":
        """Return the public methods and properties that are described with a class."""
        bases = [base for base in self.value.__mro__ if base in described_with(self.value)]
        names = dict.fromkeys(name for base in bases for name in vars(base) if not name.startswith("_"))
        found = (Described(f"{self.path}.{name}", getattr(self.value, name)) for name in names)
        return [each for each in found if has_docstring(each.value) and each.summary]


def has_docstring(value: object) -> bool:
    """Say whether it has a docstring of its own, as neither a constant nor another name of a type has."""
    return inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, property)


def is_type(value: object) -> bool:
    """Say whether it is a type with arguments, or one of several."""
    return typing.get_origin(value) is not None


# What is public


def namespace_of(path: str) -> types.ModuleType:
    """Return the module that users know by this name, such as ``budgetbandits.indices``."""
    found = pydoc.locate(path)
    if not isinstance(found, types.ModuleType):
        raise LookupError(f"there is no module {path}")
    return found


def names_of(module: types.ModuleType) -> list[str]:
    """Return what a module offers to others."""
    return getattr(module, "__all__", None) or dir(module)


def public_names(path: str) -> list[Described]:
    """Return the public names of a namespace: what is registered first, in that order, then the others."""
    module = namespace_of(path)
    registries = [value for value in vars(module).values() if isinstance(value, Registry)]
    registered = [definition.make for registry in registries for definition in registry.values()]

    def place(public: Described) -> int:
        return registered.index(public.value) if public.value in registered else len(registered)

    found = (Described(f"{path}.{name}", getattr(module, name)) for name in names_of(module))
    return sorted((each for each in found if not inspect.ismodule(each.value)), key=place)


@cache
def further_namespaces() -> tuple[str, ...]:
    """Return the namespaces behind the front door."""
    return tuple(
        f"{FRONT_DOOR}.{name}" for name in budgetbandits.__all__ if inspect.ismodule(getattr(budgetbandits, name))
    )


@cache
def all_public() -> tuple[Described, ...]:
    """Return everything that is public."""
    return tuple(each for path in (FRONT_DOOR, *further_namespaces(), *ALSO_PUBLIC) for each in public_names(path))


def described_with(value: type) -> set[type]:
    """Return a class with those of its bases that are described with it: not public, nor above one that is."""
    public = [each.value for each in all_public()]
    above = {base for parent in value.__mro__[1:] if parent in public for base in parent.__mro__}
    return {base for base in value.__mro__ if base.__module__.startswith(FRONT_DOOR)} - above


def is_elsewhere(public: Described) -> bool:
    """Say whether a further namespace has this name of the front door, too."""
    return any(public.name in names_of(namespace_of(path)) for path in further_namespaces())


# The types that they speak of


def types_spoken_of(public: Iterable[Described]) -> list[Described]:
    """Return the types of the package that signatures of public names name, and that are none themselves."""
    known = [each.value for each in public]
    sources = {source for value in known for source in sources_of(value)}
    named = {found.path: found for source in sources for found in types_in_source(source)}
    return sorted((each for each in named.values() if each.value not in known), key=lambda each: each.name)


def sources_of(value: Any) -> set[Any]:
    """Return what has to be looked at to know the signatures of a class or function."""
    if inspect.isclass(value):
        return set(described_with(value))
    return {value} if inspect.isroutine(value) else set()


def types_in_source(value: Any) -> Iterator[Described]:
    """Yield the types of the package that the annotations of a class or function name."""
    for name in names_in(annotations_of(definition_of(value))):
        named = named_in(value.__module__, name)
        if inspect.isclass(named) and named.__module__.startswith(FRONT_DOOR):
            yield Described(f"{named.__module__}.{named.__qualname__}", named)
        elif is_type(named) and name in assignments():
            yield Described(f"{assignments()[name].module}.{name}", named)


def annotations_of(definition: ast.AST | None) -> Iterator[ast.expr | None]:
    """Yield the annotations of a function, or of the fields and public methods of a class."""
    match definition:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if is_called_by_users(name):
            yield from (each.annotation for each in ast.walk(definition.args) if isinstance(each, ast.arg))
            yield definition.returns
        case ast.ClassDef(body=body):
            for statement in body:
                yield from annotations_of(statement)
        case ast.AnnAssign(annotation=annotation):
            yield annotation


def is_called_by_users(method: str) -> bool:
    """Say whether a method is public, or makes the object."""
    return method == "__init__" or not method.startswith("_")


def names_in(annotations: Iterable[ast.expr | None]) -> Iterator[str]:
    """Yield all names in annotations."""
    for annotation in annotations:
        if annotation is not None:
            yield from (node.id for node in ast.walk(annotation) if isinstance(node, ast.Name))


# The directives


class PublicNames(SphinxDirective):
    """Describes the public names of a namespace."""

    required_arguments = 1
    option_spec: ClassVar = {"rooms": str.split, "overview": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Write the page's source, and parse it."""
        (path,) = self.arguments
        rooms = self.options.get("rooms")
        public = [each for each in public_names(path) if rooms is None or each.room in rooms]
        if "overview" in self.options:
            return parsed(self, table_of(public))
        if path == FRONT_DOOR:
            return parsed(self, page_of([each for each in public if not is_elsewhere(each)]))
        for each in public:
            self.note_front_door(each)
        introduction = f".. py:module:: {path}\n\n{inspect.getdoc(namespace_of(path))}\n"
        return parsed(self, "\n".join([introduction, page_of(public)]))

    def note_front_door(self, described: Described) -> None:
        """Let it be found by the name that the front door has for it, too."""
        if getattr(budgetbandits, described.name, None) is described.value:
            kind = "class" if inspect.isclass(described.value) else "function"
            front = f"{FRONT_DOOR}.{described.name}"
            self.env.domains.python_domain.note_object(front, kind, described.path, aliased=True)


class PublicTypes(SphinxDirective):
    """Describes the types that public names speak of."""

    def run(self) -> list[nodes.Node]:
        """Write the page's source, and parse it."""
        return parsed(self, page_of(types_spoken_of(all_public())))


def page_of(described: list[Described]) -> str:
    """Return a table of what is described, and the descriptions."""
    return "\n".join([table_of(described), *(each.description() for each in described)])


def table_of(described: list[Described]) -> str:
    """Return a table of names and first lines."""
    rows = "".join(f"   * - :py:obj:`~{each.path}`\n     - {each.summary}\n" for each in described)
    return f".. list-table::\n   :widths: 35 65\n\n{rows}"


def parsed(directive: SphinxDirective, source: str) -> list[nodes.Node]:
    """Parse a source as if it stood in place of the directive."""
    return directive.parse_text_to_nodes(source, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives to Sphinx."""
    app.add_directive("public-names", PublicNames)
    app.add_directive("public-types", PublicTypes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
