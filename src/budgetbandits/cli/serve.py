"""``budgetbandits serve``: campaigns over HTTP."""

import argparse
from typing import Any

from budgetbandits.cli.common import add_command

__all__ = ["add_parser"]

_DESCRIPTION = """\
Serve the campaigns of a store over HTTP, for workers in any language and on any machine, until Ctrl-C or SIGTERM. The
store is created if there is none: sqlite:///ads.db, or postgresql+psycopg://user@host/database.
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
    parser.add_argument("--read-only", action="store_true", help="write nothing to the store")
    parser.add_argument(
        "--no-token", action="store_true", help="let everybody in who reaches it; on this machine only (127.0.0.1)"
    )


def _serve(options: argparse.Namespace) -> int:
    from budgetbandits.campaigns.store import open_store
    from budgetbandits.core.optional import require
    from budgetbandits.errors import InvalidInput

    require("service")
    from budgetbandits.service.app import make_app
    from budgetbandits.service.serving import Server, is_loopback, listening

    with listening(options.host, options.port) as listener:
        if options.no_token and not is_loopback(listener):
            raise InvalidInput(
                f"--no-token with --host {options.host}: others reach that; serve 127.0.0.1, or use tokens"
            )
        with open_store(options.store, read_only=options.read_only) as store:
            server = Server(make_app(store), listener)
            print(f"serving {options.store} at {server.url}", flush=True)
            server.serve_until_ended()
    return 0
