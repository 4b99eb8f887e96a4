"""The tokens in a file, for services whose tokens come from elsewhere."""

import re
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from budgetbandits.core.checks import check_text
from budgetbandits.errors import InvalidInput, StoreUnavailable
from budgetbandits.service.tokens import Scope, Token, Tokens

__all__ = ["FileTokens"]

_DIGEST: Final = re.compile("[0-9a-f]{64}")


class FileTokens(Tokens):
    r"""The tokens in a TOML file, which is read again when it changes.

    ::

        [[token]]
        name = "worker-7"
        scope = "work"         # read, work or admin
        campaign = "spring"    # for all campaigns, if it is left out
        sha256 = "..."         # of the secret: printf %s "$SECRET" | sha256sum

    Parameters
    ----------
    path
        The file.
    steady_clock
        As in `Tokens`.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or a token in it breaks a rule.

    Examples
    --------
    >>> import tempfile
    >>> from budgetbandits.service.tokens import digest_of, new_secret
    >>> folder = tempfile.TemporaryDirectory()
    >>> path, secret = Path(folder.name) / "tokens.toml", new_secret()
    >>> _ = path.write_text(f'[[token]]\nname = "worker-7"\nscope = "work"\nsha256 = "{digest_of(secret)}"\n')
    >>> FileTokens(path).authenticate(secret).name
    'worker-7'
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, steady_clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(steady_clock)
        self._path = Path(path)
        self._contents: list[tuple[str, Token]] = []
        self._version: tuple[int, ...] | None = None
        self._load()

    def read(self) -> Iterable[tuple[str, Token]]:
        """Return the tokens in the file as it is now."""
        try:
            self._load()
        except InvalidInput as error:
            raise StoreUnavailable(f"{error}. Nobody is let in until that is mended") from error
        return self._contents

    def _load(self) -> None:
        try:
            version = _version(self._path)
            if version != self._version:
                with self._path.open("rb") as file:
                    self._contents = list(_tokens_in(tomllib.load(file)))
                self._version = version
        except (OSError, ValueError) as error:  # what is no UTF-8, no TOML, or breaks a rule
            raise InvalidInput(f"tokens in {self._path}: {error}") from error


def _version(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written, or replaced."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _tokens_in(data: Mapping[str, Any]) -> Iterable[tuple[str, Token]]:
    rows = data.get("token")
    if set(data) != {"token"} or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidInput("give a table [[token]] for each, with name, scope, sha256 and perhaps campaign; no more")
    names, digests = set[str](), set[str]()
    for number, row in enumerate(rows, start=1):
        try:
            digest, token = _token_in(row)
            if token.name in names or digest in digests:
                raise InvalidInput(f"its name {token.name!r} or its secret is that of another one: give it its own")
        except InvalidInput as error:
            raise InvalidInput(f"token number {number}: {error}") from error
        names.add(token.name)
        digests.add(digest)
        yield digest, token


def _token_in(row: Mapping[str, Any]) -> tuple[str, Token]:
    if odd := set(row) - {"name", "scope", "campaign", "sha256"}:
        raise InvalidInput(f"it has a key {min(odd)!r}: give name, scope, sha256 and perhaps campaign")
    name, campaign, digest = row.get("name"), row.get("campaign"), row.get("sha256")
    check_text(name, "name")
    if campaign is not None:
        check_text(campaign, "campaign")
    digest = digest.lower() if isinstance(digest, str) else ""
    if not _DIGEST.fullmatch(digest):
        raise InvalidInput("its sha256 is none of a secret: give 64 digits and letters from a to f")
    # Answers are kept by the id of a token, so it must not depend on the position in the file, which edits change.
    return digest, Token(int(digest, 16), str(name), Scope.of(row.get("scope")), campaign)
