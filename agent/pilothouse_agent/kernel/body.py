"""One call's body while it runs: its task, its line to the executor, and what an abort may do to it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import cast

from pilothouse_agent.kernel.abort import Aborted, AbortSignal
from pilothouse_agent.kernel.foreign import cancelled_from_outside, described
from pilothouse_agent.kernel.ports import Consent, Invocation
from pilothouse_agent.kernel.progress import Progress
from pilothouse_agent.kernel.results import CallEnd, aborted, failed, finished, refused
from pilothouse_agent.kernel.state import State
from pilothouse_agent.kernel.tooling import Denied, ToolError

__all__ = ["Body"]

logger = logging.getLogger(__name__)

_INTERRUPTED = "Aborted while it was running."


class Body:
    """Implements `ToolContext` for the tool; the executor reads `take_progress` and awaits `run`."""

    def __init__(
        self, call_id: str, signal: AbortSignal, state: State, consent: Consent | None = None
    ) -> None:
        self.call_id = call_id
        self.signal = signal
        self.consent = consent
        self.on_progress: Callable[[], None] = lambda: None
        """Called on the loop when there is progress to take, once until it is taken."""
        self.on_settled: Callable[[], None] = lambda: None
        """Called when the outcome of a write that was in flight at the abort is known."""
        self.changed: dict[str, None] = {}
        """The paths it has written."""
        self._state = state
        self._writes = 0
        self._pending: list[str] = []
        self._listed: list[ExitStack] = []
        self._progress = Progress()
        self._over = False
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    @property
    def in_write(self) -> bool:
        return self._writes > 0

    @property
    def cancellable(self) -> bool:
        """Whether an abort may cancel it: not in a write (F4), nor when its outcome is known."""
        return not self.in_write and not self._over

    def progress(self, text: str) -> None:
        if not isinstance(cast("object", text), str):
            raise TypeError(f"Progress is text, not {type(text).__name__}.")
        if threading.get_ident() == self._thread:
            self._add_progress(text)
        elif not self._closed:
            self._loop.call_soon_threadsafe(self._add_progress, text)

    @contextmanager
    def pending_write(self, path: str) -> Generator[None]:
        with ExitStack() as writing:
            self._pending.append(path)
            writing.callback(self._pending.remove, path)
            if not self._closed:
                writing.enter_context(self._state.writing(path))
                self._listed.append(writing)
            yield

    @contextmanager
    def committing(self) -> Generator[None]:
        self.signal.raise_if_aborted()
        self._writes += 1
        try:
            yield
            self.changed.update(dict.fromkeys(self._pending))
        finally:
            self._writes -= 1
            if self.signal.aborted and not self._writes:
                self.on_settled()

    async def run(self, invocation: Invocation) -> CallEnd:
        """The body's end; raises nothing but the cancellation of its own task."""
        try:
            return await self._execute(invocation)
        finally:
            self._over = True
            self._closed = True

    async def _execute(self, invocation: Invocation) -> CallEnd:
        try:
            result = await invocation.execute(self)
        except Aborted:
            return aborted(self._interrupted())
        except Denied as error:
            return refused(str(error))
        except ToolError as error:
            ended = aborted if self.signal.aborted else failed
            return ended(str(error), error.effects)
        except asyncio.CancelledError:
            if self.signal.aborted:
                return aborted(self._interrupted())
            if cancelled_from_outside():
                raise
            return failed("The tool failed: something it waited for was cancelled.")
        except GeneratorExit:
            raise
        except BaseException as error:
            if self.signal.aborted:
                return aborted(self._interrupted())
            logger.exception("The tool of call %s raised", self.call_id)
            return failed(f"The tool failed: {described(error)}")
        return finished(result)

    def _interrupted(self) -> str:
        if not self.changed:
            return _INTERRUPTED
        return f"{_INTERRUPTED} By then it had changed {', '.join(self.changed)}."

    def take_progress(self) -> tuple[str, int]:
        """The new text, and how many bytes before it were dropped."""
        return self._progress.take()

    def close(self) -> None:
        """From here on progress is dropped (T4), and no write is listed, not even one left behind (S3)."""
        self._closed = True
        for writing in self._listed:
            writing.close()

    def _add_progress(self, text: str) -> None:
        if text and not self._closed and self._progress.add(text):
            self.on_progress()
