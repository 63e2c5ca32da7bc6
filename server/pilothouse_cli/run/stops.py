"""What can end a run before its time."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, TypeVar

from pilothouse_server.wire.entry import ending_signals

__all__ = ["Stop", "Stopped", "Stops", "unwinding"]

T = TypeVar("T")

_CANCELLING = 1.0


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
        self._before: dict[int, Any] = {}
        """The handlers of the signals that were taken over."""
        self.force = on_force
        """End at once, whatever is lost."""

    def __enter__(self) -> Stops:
        loop = asyncio.get_running_loop()
        for name, number in ending_signals().items():
            if (before := signal.getsignal(number)) is not signal.SIG_IGN:
                self._before[number] = before
                loop.add_signal_handler(number, self.signalled, _CAUSES[name])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number, before in self._before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, before)

    @property
    def cause(self) -> Stop | None:
        return self._first.result() if self._first.done() else None

    def stop(self, cause: Stop) -> None:
        """Only the first cause counts."""
        if not self._first.done():
            self._first.set_result(cause)

    def signalled(self, cause: Stop) -> None:
        self._signals += 1
        self.stop(cause)
        if self._signals > 1:
            self.force()

    async def race(self, awaitable: Awaitable[T], *, limit: float | None = None) -> T:
        """Its result, unless there is a cause to stop first: then `Stopped`, and it is cancelled.

        `limit` is in seconds, after which there is a cause. A shielded awaitable goes on.
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


@contextmanager
def unwinding() -> Generator[None]:
    """Signals end the process through its `finally` blocks."""

    def unwind(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    taken = [number for number in ending_signals().values() if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, unwind) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_CAUSES = {"SIGINT": Stop.INTERRUPTED, "SIGTERM": Stop.TERMINATED, "SIGHUP": Stop.HUNG_UP}
