"""Steps that Ctrl-C must not tear apart."""

import _signal  # the public module looks up names of signals and handlers, which takes ten times as long
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Uninterrupted"]


class Uninterrupted:
    """A context in which Ctrl-C waits: it is raised when the context is left, and not between two steps.

    Signals are heeded in the main thread of a program, where an exception such as KeyboardInterrupt may be raised
    between any two steps of Python code. Other threads are never interrupted, and nothing is done there.

    Examples
    --------
    >>> import signal
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> steps = []
    >>> try:
    ...     with Uninterrupted():
    ...         signal.raise_signal(signal.SIGINT)
    ...         steps.append("done")
    ... except KeyboardInterrupt:
    ...     steps.append("interrupted")
    >>> steps
    ['done', 'interrupted']
    >>> handler = signal.signal(signal.SIGINT, before)
    """

    __slots__ = ("_frame", "_handler", "_is_struck")

    def __enter__(self) -> None:
        self._is_struck = False
        self._handler: Any = None
        if threading.get_ident() == threading.main_thread().ident:  # which is another one in a forked child
            handler = _signal.getsignal(_signal.SIGINT)
            if callable(handler):  # not where it is ignored, or ends the program at once
                self._handler = handler
                _signal.signal(_signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._is_struck, self._frame = True, frame

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            _signal.signal(_signal.SIGINT, self._handler)
            if self._is_struck:
                self._handler(_signal.SIGINT, self._frame)
