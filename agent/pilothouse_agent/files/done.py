"""A change that was made, and what the model knows by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pilothouse_agent.files.record import ReadRecord
from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.kernel.ports import FileChange

__all__ = ["Done", "relocation"]


@dataclass(frozen=True, slots=True)
class Done:
    change: FileChange
    note: Callable[[ReadRecord], None]
    """Puts into the record what the model knows by this change."""
    remains: Remains | None = None


def relocation(change: FileChange, remains: Remains | None = None) -> Done:
    path, source = change.path, change.source
    if source is None:
        return Done(change, lambda record: record.forget(path), remains)
    return Done(change, lambda record: record.move(source, path))
