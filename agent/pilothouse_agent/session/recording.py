"""Puts every change of a run into the session's journal, in the file's queue turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.files.undo.journal import ChangeJournal, Entry
from pilothouse_agent.kernel.foreign import contained
from pilothouse_agent.kernel.ports import FileChange

__all__ = ["RunRecorder"]

logger = logging.getLogger(__name__)


class RunRecorder:
    """Implements `ChangeRecorder`. Set `run_id` before the first change."""

    def __init__(
        self, journal: ChangeJournal, *, also: Callable[[FileChange], Awaitable[None]] | None = None
    ) -> None:
        """`also` is told of each change, those of an undo included."""
        self.run_id: Callable[[], str | None] = lambda: None
        self.complain: Callable[[str], None] = logger.warning
        self._journal = journal
        self._also = also
        self._foretold: list[FileChange] = []
        """Kept, and not made yet."""

    async def foretell(self, change: FileChange, call_id: str) -> None:
        await self._keep(change, call_id, None)
        self._foretold.append(change)

    async def record(self, change: FileChange, call_id: str, remains: Remains | None) -> None:
        if any(change is foretold for foretold in self._foretold):
            self._foretold = [foretold for foretold in self._foretold if foretold is not change]
        else:
            await self._keep(change, call_id, remains)
        if self._also is None:
            return
        # The change is made; whoever fails to hear of it does not make it a failure.
        try:
            await contained(self._also, change)
        except Exception:
            logger.exception("Somebody who is told of changed files failed")

    async def _keep(self, change: FileChange, call_id: str, remains: Remains | None) -> None:
        run_id = self.run_id()
        if not call_id or run_id is None:
            return
        try:
            await asyncio.to_thread(self._journal.append, Entry(run_id, call_id, change, remains))
        except OSError as error:
            self.complain(f"The change of {change.path} cannot be undone later: {error.strerror or error}.")
