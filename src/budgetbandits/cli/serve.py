"""``budgetbandits serve``: campaigns over HTTP."""

import argparse
import contextlib
import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetbandits.cli.common import add_command

if TYPE_CHECKING:
    from budgetbandits.campaigns.store import Store
    from budgetbandits.service.tokens import Tokens

__all__ = ["add_parser"]

_DESCRIPTION = """\
Serve the campaigns of a store over HTTP, for workers in any language and on any machine, until Ctrl-C or SIGTERM: then
what is under way is answered, and nothing new is taken. The store is created if there is none: sqlite:///ads.db, or
postgresql+psycopg://user@host/database.

Requests need a token. Where the store has none yet, one is made that may do all, and shown once; `budgetbandits token`
makes more. There is no encryption: on other addresses than this machine's, put a proxy with TLS in front.
"""


def add_parser(commands: Any) -> None:
    """Add ``serve`` to the commands of a program."""
    parser = add_command(
        commands,
        "serve",
        _serve,
        summary="serve campaigns over HTTP",
        description=_DESCRIPTION,
        after_interrupt="what was answered is durable",
    )
    parser.add_argument("store", help="the address of the store")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="the port (default: 8000; 0 for any that is free)")
    parser.add_argument(
        "--root-path",
        default="",
        metavar="PATH",
        help="the path that a proxy in front takes off, such as /bandits (default: none)",
    )
    parser.add_argument("--read-only", action="store_true", help="write nothing to the store")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--tokens", type=Path, metavar="FILE", help="a TOML file with tokens, in place of the store's own")
    who.add_argument(
        "--no-token", action="store_true", help="let everybody in who reaches it; with --host 127.0.0.1 only"
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=1000.0,
        metavar="N",
        help="requests a second that a token may make (default: 1000)",
    )


class _Stopped(BaseException):
    """SIGTERM came before there was a server to take it."""


@contextlib.contextmanager
def _stopping_on_sigterm() -> Iterator[None]:
    """End what is within on SIGTERM as on Ctrl-C, and without a word: to load all that it takes lasts a while."""

    def stop(*_: object) -> None:
        raise _Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with contextlib.suppress(_Stopped):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _serve(options: argparse.Namespace) -> int:
    with _stopping_on_sigterm():
        _serve_until_stopped(options)
    print("stopped", flush=True)
    return 0


def _serve_until_stopped(options: argparse.Namespace) -> None:
    from budgetbandits.campaigns.store import open_store, without_secrets
    from budgetbandits.core.optional import require
    from budgetbandits.errors import InvalidInput

    require("service")
    from budgetbandits.service.app import checked_root, make_app
    from budgetbandits.service.limits import RateLimits
    from budgetbandits.service.serving import Server, is_loopback, listening

    limits = RateLimits(options.rate, burst=max(2 * options.rate, 1))
    root = checked_root(options.root_path)
    with listening(options.host, options.port) as listener:
        if options.no_token and not is_loopback(listener):
            raise InvalidInput(f"--no-token with --host {options.host}: others reach that; use tokens, or 127.0.0.1")
        with open_store(options.store, read_only=options.read_only) as store:
            tokens = None if options.no_token else _tokens(options, store)
            app = make_app(store, tokens=tokens, limits=limits, read_only=options.read_only, root_path=root)
            server = Server(app, listener)
            behind = f", behind a proxy at {root}" if root else ""
            print(f"serving {without_secrets(options.store)} at {server.url}{behind}", flush=True)
            _look_for_garbage_rarely()
            server.serve_until_ended()


def _look_for_garbage_rarely() -> None:
    """Let Python look through old objects a hundred times less often, and never through what was imported, which stays.

    Else that takes a fifth of the time and, with a thousand watchers, holds requests up for a third of a second.
    """
    gc.collect()
    gc.freeze()
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, 100 * old)


def _tokens(options: argparse.Namespace, store: "Store") -> "Tokens":
    """Return the tokens of a file, or of the store; make a first one where there is none, and show it."""
    from budgetbandits.service.token_file import FileTokens
    from budgetbandits.service.tokens import Scope, StoreTokens

    if options.tokens is not None:
        return FileTokens(options.tokens)
    tokens = StoreTokens(store.backend)
    in_force = [each for each in tokens.list() if not each.revoked]
    has_admin = any(each.scope is Scope.ADMIN and each.campaign is None for each in in_force)
    if not has_admin and not options.read_only:
        _, secret = tokens.create("admin", Scope.ADMIN)
        print(f"the token of the admin, which may do all, shown this once: {secret}", flush=True)
    elif not in_force:
        print("the store has no token, and nobody is let in: make one with `budgetbandits token create`", flush=True)
    return tokens
