"""A run as its caller sees it: a handle to await, and the result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass

from pilothouse_agent.kernel.events import QueuedItem, RunStop
from pilothouse_agent.kernel.messages import AssistantMessage, ErrorInfo, Usage

__all__ = ["WAITS_FOR_ITSELF", "Run", "RunResult"]

WAITS_FOR_ITSELF = "A listener must not wait for the run that is waiting for it."


@dataclass(frozen=True, slots=True)
class RunResult:
    run_id: str
    stop_reason: RunStop
    message: AssistantMessage | None
    """The run's last assistant message."""
    text: str
    usage: Usage | None
    """The sum over the run's requests."""
    returned: tuple[QueuedItem, ...] = ()
    """Steering and follow-ups that were not delivered (Q3)."""
    error: ErrorInfo | None = None
    denied: int = 0
    """Calls that permissions or the user refused."""


class Run:
    """An admitted run. Awaiting it gives the result and never raises for failures of the run.

    Cancelling the task that awaits it aborts the run (A1); the run then settles by itself. Inside
    a listener awaiting it raises RuntimeError, because the run waits for its listeners.
    """

    def __init__(
        self,
        run_id: str,
        task: asyncio.Task[RunResult],
        *,
        abort: Callable[[], object],
        in_listener: Callable[[], bool],
    ) -> None:
        self.run_id = run_id
        self._task = task
        self._abort = abort
        self._in_listener = in_listener

    def __await__(self) -> Generator[object, None, RunResult]:
        return self._wait().__await__()

    async def _wait(self) -> RunResult:
        if not self._task.done() and self._in_listener():
            raise RuntimeError(WAITS_FOR_ITSELF)
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if not self._task.done():
                self._abort()
            raise
