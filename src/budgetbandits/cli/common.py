"""What several commands share: how a command is added, and the options that say where to play."""

import argparse
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from budgetbandits.studies.study import Machine

__all__ = ["RESUMES", "add_command", "add_machine_options", "answering_interrupts", "machine_of"]

RESUMES: Final = "the same command resumes where it stopped"
"""What to say after Ctrl-C in a command that keeps its finished runs in a folder."""


_STOPPING: Final = (
    "\nbudgetbandits: stopping; what is being compiled has to end first, which may take half a minute. "
    "Ctrl-C again ends at once\n"
)


@contextlib.contextmanager
def answering_interrupts() -> Iterator[None]:
    """Answer Ctrl-C at once, although a compilation cannot be stopped; and end at once when it comes again.

    Only for commands that may be ended at any time. Where Ctrl-C is ignored or handled already, it stays so.
    """
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    is_stopping = False

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            os._exit(130)
        is_stopping = True
        os.write(2, _STOPPING.encode())  # not print, which may be what was interrupted
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
    after_interrupt: str,
) -> Any:
    """Add a command to a parser, and return the parser of its options.

    Parameters
    ----------
    commands
        The sub-parsers of the program.
    name
        What to type.
    run
        What to do with the options; it returns the exit status.
    summary, description
        For the help of the program, and for that of the command.
    after_interrupt
        What is true once Ctrl-C has stopped the command.
    """
    parser = commands.add_parser(
        name, help=summary, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run, after_interrupt=after_interrupt)
    return parser


def add_machine_options(parser: Any) -> None:
    """Add the options that say where to play."""
    group = parser.add_argument_group("where to play (on a GPU last bits may differ; all else is the same)")
    group.add_argument("--workers", type=int, metavar="N", help="threads (default: one for each core)")
    group.add_argument(
        "--engine",
        metavar="cuda|[cuda+]dask://HOST:PORT",
        help="this machine's GPU, or a Dask cluster, cores or GPUs (default: this machine's cores)",
    )
    group.add_argument("--no-progress", action="store_true", help="show no bar with the time left")


def machine_of(options: argparse.Namespace) -> "Machine":
    """Return where to play."""
    from budgetbandits.studies.study import Machine

    return Machine(options.workers, options.engine, False if options.no_progress else None)
