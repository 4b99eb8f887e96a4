"""The folder of an experiment: whose it is, and writing to it so that nothing is lost.

A file `study.json` says that the folder belongs to an experiment, and to which one. A folder with other things in it,
or with another experiment, is left alone.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidState, OutputError

__all__ = ["Folder"]

_MARK: Final = "study.json"
_FORMAT: Final = "budgetbandits.study"
_VERSION: Final = 1
_LONGEST: Final = 60  # what a message shows of a setting


class Folder:
    """A folder that belongs to one experiment.

    Parameters
    ----------
    path
        Where it is, or will be made.
    identity
        What decides the results, as JSON can hold it. Only the same experiment resumes in a folder.

    Raises
    ------
    OutputError
        If the folder cannot be written to, or belongs to something else.
    """

    def __init__(self, path: str | Path, identity: Mapping[str, Any]) -> None:
        require("report")  # for what goes into it, and before the first run is played
        self.path = Path(path)
        identity = json.loads(json.dumps(identity))  # as it will be read back
        try:
            self._claim(identity)
        except OSError as error:
            raise OutputError(f"the output folder {str(path)!r} cannot be used ({error}): give another one") from error

    def _claim(self, identity: Mapping[str, Any]) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise OutputError(f"{str(self.path)!r} is a file: give a folder for the output")
        self.path.mkdir(parents=True, exist_ok=True)
        mark = self.path / _MARK
        # A write that was killed may have left a part of the mark.
        others = [entry for entry in self.path.iterdir() if entry != mark and not entry.name.startswith(f".{_MARK}.")]
        if mark.exists() and others:
            self._compare(_identity_in(mark), identity)
        elif others or (mark.exists() and not _is_own(mark)):
            raise OutputError(
                f"the folder {str(self.path)!r} is not empty and holds no experiment of budgetbandits: "
                "give a new or an empty one; nothing was changed"
            )
        # Written again in any case, to find out now whether that is possible.
        data = {"format": _FORMAT, "version": _VERSION, "identity": identity}
        self.write_text(_MARK, json.dumps(data, indent=2) + "\n")

    def _compare(self, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        different = [key for key in {**there, **wanted} if there.get(key) != wanted.get(key)]
        if different:
            raise OutputError(
                f"the folder {str(self.path)!r} holds an experiment with other settings "
                f"({', '.join(_difference(key, there, wanted) for key in different)}): "
                "give another folder, or the same settings to resume; nothing was changed"
            )

    def write_text(self, name: str, text: str) -> None:
        """Write a file; one that is there is replaced only once the new one is complete."""
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file; one that is there is replaced only once the new one is complete."""
        try:
            descriptor, partial = tempfile.mkstemp(dir=self.path, prefix=f".{name}.")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(partial).chmod(0o644)
                Path(partial).replace(self.path / name)
            except BaseException:
                Path(partial).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise OutputError(
                f"{name} cannot be written to {str(self.path)!r} ({error}): what was there is as it was; "
                "make room or give another folder, and start again to resume"
            ) from error


def _is_own(mark: Path) -> bool:
    """Tell whether a mark is one of this package, though it may be cut off, or empty."""
    beginning = json.dumps({"format": _FORMAT}, indent=2).removesuffix("\n}").encode()
    content = mark.read_bytes()
    return content[: len(beginning)] == beginning[: len(content)]


def _identity_in(mark: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(mark.read_text(encoding="utf-8"))
        if data["format"] != _FORMAT or data["version"] != _VERSION:
            raise ValueError(f"format {data['format']!r}, version {data['version']!r}")
        identity: Mapping[str, Any] = dict(data["identity"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidState(
            f"{str(mark)!r} is damaged or of another version ({error}): put a good copy of it back, "
            "or give another folder"
        ) from error
    return identity


def _difference(key: str, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    old, new = json.dumps(there.get(key)), json.dumps(wanted.get(key))
    pairs = enumerate(zip(old, new, strict=False))
    place = next((i for i, (first, second) in pairs if first != second), min(len(old), len(new)))
    return f"{key}: {_short(old, place)} there, {_short(new, place)} asked for"


def _short(text: str, place: int) -> str:
    """Return a text, but of a long one only what is around a place.

    >>> _short("a" * 100 + "b" + "c" * 100, 100)
    '...aaaaaaaaaaaaaaaaaaaaaaaaabcccccccccccccccccccccccccccc...'
    """
    if len(text) <= _LONGEST:
        return text
    begin = max(0, min(place - _LONGEST // 2 + 5, len(text) - _LONGEST + 6))
    end = begin + _LONGEST - 6
    return ("..." if begin > 0 else "") + text[begin:end] + ("..." if end < len(text) else "")
