"""What can end a run before its time."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from enum import Enum
from types import TracebackType
from typing import TypeVar

__all__ = ["Stop", "Stopped", "Stops"]

T = TypeVar("T")

_CANCELLING = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop(Enum):
    """The cause; the value is the exit code of a run that was stopped by it."""

    INTERRUPTED = 130
    TERMINATED = 143
    HUNG_UP = 129
    TIMED_OUT = -3
    READER_GONE = -4

    @property
    def exit_code(self) -> int:
        return self.value if self.value > 0 else 3


class Stopped(Exception):
    """Something wants the run to end."""


class Stops:
    """Waits for the first cause to stop. As a context manager it takes the signals over.

    The first signal stops; one more forces. A signal that was ignored before stays so.
    """

    def __init__(self, *, on_force: Callable[[], object]) -> None:
        self._first: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        self._signals = 0
        self._taken: list[signal.Signals] = []
        self.force = on_force
        """End at once, whatever is lost."""

    def __enter__(self) -> Stops:
        loop = asyncio.get_running_loop()
        self._taken = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._taken:
            loop.add_signal_handler(number, self.signalled, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in self._taken:
            loop.remove_signal_handler(number)

    @property
    def cause(self) -> Stop | None:
        return self._first.result() if self._first.done() else None

    def stop(self, cause: Stop) -> None:
        """Only the first cause counts."""
        if not self._first.done():
            self._first.set_result(cause)

    def signalled(self, number: signal.Signals) -> None:
        self._signals += 1
        self.stop(_STOPS[number])
        if self._signals > 1:
            self.force()

    async def race(self, awaitable: Awaitable[T], *, limit: float | None = None) -> T:
        """Its result, unless there is a cause to stop first: then `Stopped`, and it is cancelled.

        `limit` is in seconds, after which the time is out. A shielded awaitable goes on.
        """
        task = asyncio.ensure_future(awaitable)
        try:
            await asyncio.wait({task, self._first}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            task.cancel()
        self.stop(Stop.TIMED_OUT)
        await asyncio.wait({task}, timeout=_CANCELLING)
        raise Stopped


_STOPS = {
    signal.SIGINT: Stop.INTERRUPTED,
    signal.SIGTERM: Stop.TERMINATED,
    signal.SIGHUP: Stop.HUNG_UP,
}
