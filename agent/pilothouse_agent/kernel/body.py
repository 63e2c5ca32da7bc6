"""One call's body while it runs: its task, its line to the executor, and what an abort may do to it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import cast

from pilothouse_agent.kernel.abort import Aborted, AbortSignal
from pilothouse_agent.kernel.ports import Invocation
from pilothouse_agent.kernel.results import CallEnd, aborted, failed, finished
from pilothouse_agent.kernel.state import State
from pilothouse_agent.kernel.tooling import ToolError, ToolResult

__all__ = ["Body"]

logger = logging.getLogger(__name__)

_PROGRESS_ROOM = 64 * 1024
"""Characters of unpublished progress kept; older ones are dropped and counted."""


class Body:
    """Implements `ToolContext` for the tool; the executor reads `take_progress` and awaits `run`."""

    def __init__(self, call_id: str, signal: AbortSignal, state: State) -> None:
        self.call_id = call_id
        self.signal = signal
        self.in_write = False
        self.on_progress: Callable[[], None] = lambda: None
        """Called on the loop when there is progress to take, once until it is taken."""
        self._state = state
        self._progress: list[str] = []
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def progress(self, text: str) -> None:
        if threading.get_ident() == self._thread:
            self._add_progress(text)
        elif not self._closed:
            self._loop.call_soon_threadsafe(self._add_progress, text)

    def pending_write(self, path: str) -> AbstractContextManager[None]:
        return self._state.writing(path)

    @contextmanager
    def committing(self) -> Generator[None]:
        self.signal.raise_if_aborted()
        self.in_write = True
        try:
            yield
        finally:
            self.in_write = False

    async def run(self, invocation: Invocation) -> CallEnd:
        """The body's end; raises nothing but the cancellation of its own task."""
        try:
            result = cast("object", await invocation.execute(self))
        except Aborted:
            return aborted()
        except ToolError as error:
            return aborted(str(error)) if self.signal.aborted else failed(str(error))
        except asyncio.CancelledError:
            if self.signal.aborted:
                return aborted("Aborted while it was running.")
            raise
        except (Exception, SystemExit) as error:
            if self.signal.aborted:
                return aborted("Aborted while it was running.")
            logger.exception("The tool of call %s raised", self.call_id)
            return failed(f"The tool failed: {type(error).__name__}: {error}")
        if not isinstance(result, ToolResult):
            return failed("The tool gave no result. This is a fault of the tool, not of the call.")
        return finished(result)

    def take_progress(self) -> tuple[str, int]:
        """The new text, and how many characters before it were dropped."""
        text = "".join(self._progress)
        self._progress.clear()
        dropped = max(0, len(text) - _PROGRESS_ROOM)
        return text[dropped:], dropped

    def close(self) -> None:
        """From here on progress is dropped (T4)."""
        self._closed = True
        self._progress.clear()

    def _add_progress(self, text: str) -> None:
        if self._closed or not text:
            return
        self._progress.append(text)
        if len(self._progress) == 1:
            self.on_progress()
