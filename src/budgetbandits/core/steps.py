"""Work that is said once and done in two ways: in the thread that calls, or in an event loop, which goes on meanwhile.

What is to be done is a generator. It yields steps and is sent what came of each; an error that a step raises is raised
where it was yielded. What a step is, and how it is performed, is up to those who write the generator.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

__all__ = ["drive", "drive_async"]

Step = TypeVar("Step")
Answer = TypeVar("Answer")


def drive(steps: Generator[Step, Any, Answer], perform: Callable[[Step], Any]) -> Answer:
    """Perform steps one after the other, and return what they come to.

    >>> def doubled():
    ...     return 2 * (yield "a number")
    >>> drive(doubled(), len)
    16
    """
    try:
        step = next(steps)
        while True:
            try:
                came = perform(step)
            except Exception as error:
                step = steps.throw(error)
            else:
                step = steps.send(came)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer


async def drive_async(steps: Generator[Step, Any, Answer], perform: Callable[[Step], Awaitable[Any]]) -> Answer:
    """Do the same in an event loop.

    >>> import asyncio
    >>> def slept():
    ...     return (yield 0.0)
    >>> asyncio.run(drive_async(slept(), asyncio.sleep))
    """
    try:
        step = next(steps)
        while True:
            try:
                came = await perform(step)
            except Exception as error:
                step = steps.throw(error)
            else:
                step = steps.send(came)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
