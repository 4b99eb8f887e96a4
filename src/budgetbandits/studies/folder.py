"""The folder of an experiment: whose it is, and writing to it so that nothing is lost.

A file `study.json` says that the folder belongs to an experiment, to which one, and which versions of this package
played it. A folder with other things in it is left alone, and so is one with another experiment, unless that is to be
overwritten.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidState, OutputError
from budgetbandits.studies.exact_version import exact_version

__all__ = ["Folder"]

_MARK: Final = "study.json"
_FORMAT: Final = "budgetbandits.study"
_VERSION: Final = 1
_LONGEST: Final = 60  # what a message shows of a setting
_OPTIONAL: Final = {"fewer_runs", "imports"}  # keys of an identity that not every experiment of a command has


class Folder:
    """A folder that belongs to one experiment.

    Parameters
    ----------
    path
        Where it is, or will be made.
    identity
        What decides the results, as JSON can hold it. Only the same experiment resumes in a folder.
    outputs
        The files that are removed with the runs of an experiment that is overwritten.
    overwrite
        Whether `replace_old` removes the results of an earlier experiment of this command.

    Attributes
    ----------
    path
        Where it is.
    holds_old
        Whether there are results that are to be overwritten.

    Raises
    ------
    OutputError
        If the folder cannot be written to, or belongs to something else.
    """

    def __init__(
        self, path: str | Path, identity: Mapping[str, Any], *, outputs: Sequence[str] = (), overwrite: bool = False
    ) -> None:
        require("report")  # for what goes into it, and before the first run is played
        self.path = Path(path)
        self.holds_old = False
        self._identity = json.loads(json.dumps(identity))  # as it will be read back
        self._outputs = outputs
        try:
            self._claim(overwrite)
        except OSError as error:
            raise OutputError(f"the output folder {str(path)!r} cannot be used ({error}): give another one") from error

    def _claim(self, overwrite: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise OutputError(f"{str(self.path)!r} is a file: give a folder for the output")
        self.path.mkdir(parents=True, exist_ok=True)
        mark = self.path / _MARK
        # A write that was killed may have left a part of the mark.
        others = [entry for entry in self.path.iterdir() if entry != mark and not entry.name.startswith(f".{_MARK}.")]
        played_by: Sequence[str] = ()
        if mark.exists() and others:
            there = _facts_in(mark)
            played_by = there.played_by
            if overwrite:
                self._check_command(there.identity)
                self.holds_old = True
                return
            self._compare(there.identity)
        elif others or (mark.exists() and not _is_own(mark)):
            raise OutputError(
                f"the folder {str(self.path)!r} is not empty and holds no experiment of budgetbandits: "
                "give a new or an empty one; nothing was changed"
            )
        # Written again in any case, to find out now whether that is possible.
        self._mark(played_by)

    def _mark(self, played_by: Sequence[str]) -> None:
        data = {
            "format": _FORMAT,
            "version": _VERSION,
            "identity": self._identity,
            "played_by": list(dict.fromkeys([*played_by, exact_version()])),
        }
        self.write_text(_MARK, json.dumps(data, indent=2) + "\n")

    def _compare(self, there: Mapping[str, Any]) -> None:
        wanted = self._identity
        different = [key for key in {**there, **wanted} if there.get(key) != wanted.get(key)]
        if different:
            overwrite = ", or --overwrite to replace its results" if self._outputs else ""
            raise OutputError(
                f"the folder {str(self.path)!r} holds an experiment with other settings "
                f"({', '.join(_difference(key, there, wanted) for key in different)}): "
                f"give another folder, or the same settings to resume{overwrite}; nothing was changed"
            )

    def _check_command(self, there: Mapping[str, Any]) -> None:
        if not there.keys() ^ self._identity.keys() <= _OPTIONAL:
            raise OutputError(
                f"the folder {str(self.path)!r} holds an experiment of another command or version: "
                "give another folder, or remove this one yourself; nothing was changed"
            )

    def replace_old(self) -> None:
        """Remove the results that are to be overwritten, if there are any: call it once the new ones are at hand."""
        if not self.holds_old:
            return
        try:
            for name in self._outputs:
                (self.path / name).unlink(missing_ok=True)
            for file in sorted(self.path.glob("runs/*/*.parquet"), reverse=True):  # what is left can be resumed
                file.unlink()
        except OSError as error:
            raise OutputError(
                f"the results in {str(self.path)!r} cannot be replaced ({error}): give another folder"
            ) from error
        self.holds_old = False
        self._mark(())

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


class _Facts(NamedTuple):
    """The contents of a mark: what decides the results, and which versions of this package played them."""

    identity: Mapping[str, Any]
    played_by: Sequence[str]


def _facts_in(mark: Path) -> _Facts:
    try:
        data = json.loads(mark.read_text(encoding="utf-8"))
        if data["format"] != _FORMAT or data["version"] != _VERSION:
            raise ValueError(f"format {data['format']!r}, version {data['version']!r}")
        return _Facts(dict(data["identity"]), list(map(str, data["played_by"])))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidState(
            f"{str(mark)!r} is damaged or of another version ({error}): put a good copy of it back, "
            "or give another folder"
        ) from error


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
