"""What a changed file tells those who hear of it."""

from __future__ import annotations

import asyncio

from pilothouse_agent.files.diff import count_changed, diff_texts
from pilothouse_agent.files.in_flight import outlast
from pilothouse_agent.kernel.events import FileChanged
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_agent.kernel.tooling import Hunk

__all__ = ["diff_of_change", "event_of_change"]

_DIFF_LIMIT = 5.0


async def diff_of_change(change: FileChange) -> tuple[Hunk, ...]:
    """Ends with its result also when the call is cancelled: the change is made and must be told."""
    before, after = change.before or "", change.after or ""
    try:
        return await outlast(asyncio.to_thread(diff_texts, before, after), limit=_DIFF_LIMIT)
    except TimeoutError:
        return ()


def event_of_change(change: FileChange, hunks: tuple[Hunk, ...], call_id: str) -> FileChanged:
    return FileChanged(change.path, change.kind, change.via, *count_changed(hunks), call_id)
