"""Python files that a study or a list of a leaderboard imports, for what they register.

Importing a file runs it. So play a study only if you would run the files that it names.
"""

import hashlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from budgetbandits.errors import InvalidInput
from budgetbandits.studies.keys import shown

__all__ = ["import_files"]


def import_files(value: object, folder: Path, where: str = "import") -> Mapping[str, str]:
    """Import Python files, and return what tells their content from any other, by their paths as given.

    Each becomes a module with the name of the file. A file that was imported before is not run again.

    Parameters
    ----------
    value
        A list of paths, from the folder of the file that names them.
    folder
        That folder.
    where
        The path of the key, for messages.
    """
    if not isinstance(value, list):
        raise InvalidInput(f'{where} is {shown(value)}: give a list of Python files, such as ["mine.py"]')
    return {str(entry): _imported(entry, folder, f"{where}[{position}]") for position, entry in enumerate(value)}


def _imported(entry: object, folder: Path, where: str) -> str:
    if not isinstance(entry, str) or not re.fullmatch(r"(.*/)?[A-Za-z_]\w*\.py", entry):
        raise InvalidInput(
            f"{where} is {shown(entry)}: give the path of a Python file from the folder of this one, such as "
            '"mine.py"; its name must be one that Python can import'
        )
    path = (folder / entry).resolve()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{where} is {entry!r}: {path} cannot be read ({error.strerror})") from error
    _import(path, f"{where} is {entry!r}")
    return hashlib.sha256(content).hexdigest()


def _import(path: Path, told: str) -> None:
    known = sys.modules.get(path.stem)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "").resolve() == path:
            return
        raise InvalidInput(f"{told}: there is a module named {path.stem!r} already; give the file another name")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{told}: Python cannot import it; give a Python file")
    module = importlib.util.module_from_spec(spec)
    # Known under its name before it runs, as with any import: dataclasses and pickle look it up there.
    sys.modules[path.stem] = module
    _travel_by_value(module)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[path.stem]
        if not isinstance(error, Exception):
            raise
        raise InvalidInput(f"{told}: running it raised {type(error).__name__}: {error}") from error


def _travel_by_value(module: ModuleType) -> None:
    """Let a cluster's workers, which cannot import the file, be sent what stands in it."""
    if importlib.util.find_spec("cloudpickle") is not None:  # it comes with Dask
        importlib.import_module("cloudpickle").register_pickle_by_value(module)
