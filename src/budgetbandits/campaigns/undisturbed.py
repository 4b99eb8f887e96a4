"""Work that Ctrl-C must not interrupt in the middle, and threads to do it."""

import _thread
import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

__all__ = ["could_start", "undisturbed"]

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def could_start(start: Callable[[], object]) -> bool:
    """Start a thread; tell whether there was one to be had: there is none when the program ends, or at a limit."""
    try:
        start()
    except RuntimeError as error:
        if "new thread" not in str(error):  # then it is a signal's, and the thread may have started
            raise
        return False
    return True


def undisturbed(work: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Let a function run to its end, whatever signals come meanwhile.

    Signals are heeded in the main thread of a program, and there an exception such as KeyboardInterrupt may be raised
    between any two steps. A lock that is taken in Python code, like those of a pool of connections, can stay locked for
    ever by that. So a call from the main thread is performed by another one. Ctrl-C ends the wait for it, and the work
    continues to its end by itself.
    """

    @functools.wraps(work)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        if threading.current_thread() is not threading.main_thread():
            return work(*args, **kwargs)
        done = threading.Lock()  # unlike an Event it takes Ctrl-C at any moment
        done.acquire()
        answers: list[Answer] = []
        errors: list[BaseException] = []

        def perform() -> None:
            try:
                answers.append(work(*args, **kwargs))
            except BaseException as error:
                errors.append(error)
            finally:
                done.release()

        # Not as a Thread: its start waits in Python code, which an interrupt would tear.
        if not could_start(lambda: _thread.start_new_thread(perform, ())):
            return work(*args, **kwargs)
        done.acquire()
        if errors:
            raise errors.pop()
        return answers.pop()

    return cast(Callable[Given, Answer], call)
