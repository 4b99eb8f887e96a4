from collections.abc import Callable
from types import FrameType
from typing import Any

SIGINT: int

def getsignal(signalnum: int, /) -> Any: ...
def signal(signalnum: int, handler: Callable[[int, FrameType | None], Any] | int | None, /) -> Any: ...
