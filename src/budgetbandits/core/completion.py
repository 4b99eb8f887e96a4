"""What ``dir`` and completion show of a module: its public names, and nothing that it imported for its own use."""

from functools import partial
from types import ModuleType

__all__ = ["show_public_names"]


def show_public_names(*modules: ModuleType) -> None:
    """Let ``dir`` list the public names of modules only: those in ``__all__`` or, without one, all but modules.

    >>> from types import ModuleType
    >>> room = ModuleType("room")
    >>> room.__dict__.update(math=ModuleType("math"), answer=42, _secret=1)
    >>> show_public_names(room)
    >>> dir(room)
    ['answer']
    """
    for module in modules:
        vars(module)["__dir__"] = partial(_public_names, module)


def _public_names(module: ModuleType) -> list[str]:
    names = vars(module)
    return sorted(
        names.get("__all__")
        or (name for name, value in names.items() if not name.startswith("_") and not isinstance(value, ModuleType))
    )
