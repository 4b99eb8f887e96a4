"""What the package's sources say that its objects do not know: annotations as written, and texts below constants."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import budgetbandits

ROOT: Final = Path(budgetbandits.__file__).parents[1]

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definition_of(value: Any) -> Definition | None:
    """Return the source of a class or function; None if it has none, such as a method that a dataclass made."""
    return definitions().get((value.__module__, value.__qualname__))


@cache
def definitions() -> dict[tuple[str, str], Definition]:
    """Return all classes and functions by their module and name; of overloads the last, which is the real one."""
    return {(module, name): definition for module, tree in trees().items() for name, definition in definitions_in(tree)}


def definitions_in(tree: ast.Module | ast.ClassDef, path: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the definitions of a module or a class, and of the classes in it."""
    for statement in tree.body:
        if isinstance(statement, Definition):
            yield f"{path}{statement.name}", statement
        if isinstance(statement, ast.ClassDef):
            yield from definitions_in(statement, f"{path}{statement.name}.")


def named_in(module: str, name: str) -> Any:
    """Return what a name means in a module, also where that is imported for type checkers only; None if nothing."""
    return getattr(import_module(origins_in(module).get(name) or module), name, None)


@cache
def origins_in(module: str) -> dict[str, str | None]:
    """Return where the names come from that a module imports."""
    imports = [node for node in ast.walk(trees()[module]) if isinstance(node, ast.ImportFrom)]
    return {each.name: node.module for node in reversed(imports) for each in node.names}  # of several, the first


class Assignment(NamedTuple):
    """What a module assigns to a name, and what it says about that."""

    module: str
    value: str
    doc: str


@cache
def assignments() -> dict[str, Assignment]:
    """Return what modules assign to names; if several do to one, what one of them offers to others."""
    found, offered = dict[str, Assignment](), dict[str, Assignment]()
    for module, tree in trees().items():
        assigned = dict(assignments_in(module, tree))
        offers = ast.literal_eval(assigned["__all__"].value) if "__all__" in assigned else ()
        found |= assigned
        offered |= {name: assigned[name] for name in offers if name in assigned}
    return found | offered


def assignments_in(module: str, tree: ast.Module) -> Iterator[tuple[str, Assignment]]:
    """Yield the names that a module assigns to."""
    for statement, after in pairwise([*tree.body, ast.Pass()]):
        match statement:
            case (
                ast.Assign(targets=[ast.Name(name)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            ):
                said = ast.get_docstring(ast.Module([after], [])) or ""
                yield name, Assignment(module, ast.unparse(value), said)


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of all modules."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): tree_of(file)
        for file in sorted(Path(budgetbandits.__file__).parent.rglob("*.py"))
    }


def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of a module, with types in place of quoted ones."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if annotation := getattr(node, field, None):
                setattr(node, field, Unquoted().visit(annotation))
    return tree


class Unquoted(ast.NodeTransformer):
    """Puts types in place of quoted ones; what is literally a text stays."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Go on inside, but not in a Literal."""
        return node if ast.unparse(node.value) == "Literal" else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave what stands beside a type, such as a description."""
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Read what is quoted."""
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node
