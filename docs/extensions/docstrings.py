"""How the reference reads docstrings and signatures.

Sections are read as NumPy has them. Signatures stand as they were written: ``costs: Costs``, not half a page of what
`Costs` is made of. What stands in single backticks becomes a link if the reference has that name.
"""

import ast
import inspect
from copy import copy
from functools import cache
from typing import Any, Final

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon.docstring import NumpyDocstring
from sphinx.util.nodes import make_refnode

from sources import definition_of

MEMBERS: Final = ("method", "classmethod", "staticmethod", "attribute", "property")


class Sections(NumpyDocstring):
    """Sections in which several attributes may share a description, as parameters may."""

    def _consume_fields(
        self, parse_type: bool = True, prefer_type: bool = False, multiple: bool = True
    ) -> list[tuple[str, str, list[str]]]:
        return super()._consume_fields(parse_type, prefer_type, multiple=True)


def read_sections(app: Sphinx, what: Any, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Read the sections of a docstring, in place.

    As `sphinx.ext.napoleon` does, but for one thing: where a property says "The mean: ..." that is a sentence, no type.
    """
    what = "function" if what == "property" else what
    lines[:] = Sections(lines, what=what, name=name, obj=value, options=options).lines()


def as_written(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str] | None:
    """Return a signature as its source has it, or None, for the one that was found, where there is no source."""
    function = value.__init__ if inspect.isclass(value) else getattr(value, "__func__", value)
    definition = definition_of(function) if inspect.isfunction(function) else None
    if definition is None or isinstance(definition, ast.ClassDef):
        return None
    arguments = copy(definition.args)
    arguments.args = [each for each in arguments.args if each.arg not in ("self", "cls")]
    returned = None if inspect.isclass(value) else definition.returns
    return f"({ast.unparse(arguments)})", ast.unparse(returned) if returned else ""


def skip_others(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Skip fields of named tuples and the like, which the section of attributes describes, and methods of others."""
    is_field = inspect.isdatadescriptor(value) and not isinstance(value, property)
    is_of_others = inspect.isfunction(value) and not value.__module__.startswith("budgetbandits.")
    return True if is_field or is_of_others else None


def link_short_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    """Link a name without its path, such as `Learner` or `Learner.ask`; what is no such name stays as it stands."""
    if node["refdomain"] != "py":
        return None
    path = paths_of_short_names(env).get(node["reftarget"].removeprefix("bb.").removesuffix("()"))
    if path is None:
        return content
    found = env.domains.python_domain.objects[path]
    return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, content, path)


@cache
def paths_of_short_names(env: BuildEnvironment) -> dict[str, str]:
    """Return the paths in the reference; a member goes by the name of its class, and one of several by the shortest."""
    found: dict[str, str] = {}
    for path, entry in sorted(env.domains.python_domain.objects.items(), key=lambda item: item[0].count(".")):
        parts = path.split(".")
        found.setdefault(".".join(parts[-2:] if entry.objtype in MEMBERS else parts[-1:]), path)
        found.setdefault(path.removeprefix("budgetbandits."), path)
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call the functions above."""
    app.connect("autodoc-process-docstring", read_sections)
    app.connect("autodoc-process-signature", as_written)
    app.connect("autodoc-skip-member", skip_others)
    app.connect("missing-reference", link_short_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
