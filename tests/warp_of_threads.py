"""A warp made of 32 threads: kernels run as plain Python, where there is no GPU."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

LANES = 32
_mine = threading.local()


class Warp:
    """Threads that wait for each other, and what they exchange."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(LANES)
        self.lock = threading.Lock()
        self.given: list[Any] = [None] * LANES
        self.shared: dict[int, Any] = {}


class _Index:
    @property
    def x(self) -> int:
        return int(_mine.lane)


class _Shared:
    def array(self, shape: tuple[int, ...], dtype: Any) -> Any:
        _mine.arrays += 1
        with _mine.warp.lock:
            return _mine.warp.shared.setdefault(_mine.arrays, np.full(shape, np.nan, str(dtype)))


class _Local:
    def array(self, shape: int, dtype: Any) -> Any:
        return np.full(shape, np.nan, str(dtype))


class CudaOfThreads:
    """What kernels use of `numba.cuda`."""

    threadIdx = _Index()
    shared = _Shared()
    local = _Local()

    def grid(self, _: int) -> int:
        return int(_mine.run * LANES + _mine.lane)

    def syncwarp(self, mask: int) -> None:
        _mine.warp.barrier.wait()

    def _exchanged(self, given: Any) -> list[Any]:
        warp = _mine.warp
        warp.given[_mine.lane] = given
        warp.barrier.wait()
        everything = list(warp.given)
        warp.barrier.wait()
        return everything

    def shfl_sync(self, mask: int, given: Any, lane: int) -> Any:
        return self._exchanged(given)[lane]

    def shfl_xor_sync(self, mask: int, given: Any, bits: int) -> Any:
        return self._exchanged(given)[_mine.lane ^ bits]

    def shfl_up_sync(self, mask: int, given: Any, count: int) -> Any:
        return self._exchanged(given)[max(_mine.lane - count, 0)]

    def ballot_sync(self, mask: int, is_so: bool) -> int:
        return sum(1 << lane for lane, each in enumerate(self._exchanged(bool(is_so))) if each)

    def popc(self, lanes: int) -> int:
        return lanes.bit_count()

    def ffs(self, lanes: int) -> int:
        return (lanes & -lanes).bit_length()


def launch(kernel: Callable[..., None], runs: int, *arguments: Any) -> None:
    """Run a kernel, one warp after the other."""
    for run in range(runs):
        warp = Warp()
        errors: list[BaseException] = []

        def go(lane: int, run: int = run, warp: Warp = warp, errors: list[BaseException] = errors) -> None:
            _mine.lane, _mine.run, _mine.warp, _mine.arrays = lane, run, warp, 0
            try:
                kernel(*arguments)
            except BaseException as raised:  # also what a test fails with
                errors.append(raised)
                warp.barrier.abort()

        threads = [threading.Thread(target=go, args=(lane,)) for lane in range(LANES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            if not isinstance(error, threading.BrokenBarrierError):
                raise error
