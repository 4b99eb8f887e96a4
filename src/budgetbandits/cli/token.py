"""``budgetbandits token``: make, list and revoke the tokens of a service."""

import argparse
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from budgetbandits.cli.common import add_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from budgetbandits.service.tokens import StoreTokens

__all__ = ["add_parser"]

_SCOPES = ("read", "work", "admin")

_DESCRIPTION = """\
Make, list and revoke the tokens by which `budgetbandits serve` knows who may do what. They are kept in the store, which
may be in use; a service that is running knows of a change a second later.

A store is named by its address: sqlite:///ads.db, sqlite:////home/me/ads.db (an absolute path), or
postgresql+psycopg://user@host/database. `budgetbandits serve` creates it, and shows a first token.
"""

_CREATE = """\
Make a token, and print its secret: once, and nothing else on standard output, so that a program can take it up:

  SECRET=$(budgetbandits token create sqlite:///ads.db --name worker-7 --scope work --campaign spring)

Only its SHA-256 is kept, so nobody can find the secret out later. Clients send it with each request, in the header
"Authorization: Bearer bb_...". The name of the token is the actor of these requests in the journal.

  read    look at campaigns: money, arms, pending pulls, journals, exports
  work    and ask, tell, settle, cancel, expire and renew
  admin   and change campaigns; for all campaigns: and create them, and make and revoke tokens
"""

_LIST = (
    "List the tokens of a store, those that were revoked included. When one was last used is known to a minute or so."
)

_REVOKE = """\
Let a token be in force no more, for ever: a service that is running refuses it a second later. What was done with it
stays in the journal, under its name. Another token may get the same name then.
"""


def add_parser(commands: Any) -> None:
    """Add ``token`` to the commands of a program."""
    token = commands.add_parser(
        "token",
        help="make, list and revoke the tokens of a service",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = token.add_subparsers(title="commands", metavar="COMMAND", required=True)
    create = _add_verb(verbs, "create", _create, "make a token, and print its secret once", _CREATE)
    create.add_argument("--name", required=True, help="who has it, such as worker-7; tokens in force differ in it")
    create.add_argument("--scope", required=True, choices=_SCOPES, help="what it allows")
    create.add_argument("--campaign", metavar="NAME", help="the only campaign that it is for; all by default")
    _add_verb(verbs, "list", _list, "list all tokens", _LIST)
    revoke = _add_verb(verbs, "revoke", _revoke, "let a token be in force no more", _REVOKE)
    revoke.add_argument("name", help="the name of the token")


def _add_verb(verbs: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, description: str) -> Any:
    after = "`budgetbandits token list` says whether it was done"
    parser = add_command(verbs, name, run, summary=summary, description=description, after_interrupt=after)
    parser.add_argument("store", help="the address of the store")
    return parser


@contextmanager
def _tokens(options: argparse.Namespace, *, read_only: bool = False) -> "Iterator[StoreTokens]":
    from budgetbandits.campaigns.store import open_store
    from budgetbandits.service.tokens import StoreTokens

    open_store(options.store, read_only=True).close()  # to write would create what is not there
    with open_store(options.store, read_only=read_only) as store:
        yield StoreTokens(store.backend)


def _create(options: argparse.Namespace) -> int:
    with _tokens(options) as tokens:
        token, secret = tokens.create(options.name, options.scope, options.campaign)
    where = "all campaigns" if token.campaign is None else f"the campaign {token.campaign!r}"
    print(f"token {token.name!r}, scope {token.scope}, for {where}. Its secret is shown this once:", file=sys.stderr)
    print(secret)
    return 0


def _list(options: argparse.Namespace) -> int:
    with _tokens(options, read_only=True) as tokens:
        print(tokens.list())
    return 0


def _revoke(options: argparse.Namespace) -> int:
    with _tokens(options) as tokens:
        token = tokens.revoke(tokens.named(options.name).id)
    print(f"token {token.name!r} is revoked")
    return 0
