"""Computing in threads: a bounded number of requests, each within a time limit."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Busy(Exception):
    """As many requests wait as may."""


class Expired(Exception):
    """A request took longer than it may."""


class Deadline:
    """The time at which a computation must end, in seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise `Expired` after the end; called between the parts of a computation."""
        if time.monotonic() > self._end:
            raise Expired


class Work:
    """Runs functions in a thread, in the order in which they come.

    A thread cannot be ended from outside. After its time limit the request is answered, and the
    function ends when it next checks its deadline; until then its place is not free, so that slow
    requests do not pile up. The limit of `seconds` includes the time that a function waits;
    `waiting` is how many may wait while one runs.
    """

    def __init__(self, seconds: float, waiting: int) -> None:
        self._seconds, self._places = seconds, waiting + 1
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="labelkin")
        self._taken = 0

    async def run(self, function: Callable[[Deadline], T]) -> T:
        """Return what the function returns; raise `Busy` or `Expired`."""
        if self._taken >= self._places:
            raise Busy
        self._taken += 1
        deadline = Deadline(self._seconds)

        def start() -> T:
            deadline.check()  # it may have waited too long
            return function(deadline)

        future = asyncio.get_running_loop().run_in_executor(self._pool, start)
        future.add_done_callback(self._release)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            raise Expired from None

    def _release(self, future: "asyncio.Future[Any]") -> None:
        self._taken -= 1
        if not future.cancelled():
            future.exception()  # retrieved, also where nothing waits for it any more

    def close(self) -> None:
        """Let no further function begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)
