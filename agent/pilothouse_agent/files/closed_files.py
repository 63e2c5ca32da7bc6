"""The seam for files that are not open anywhere and are changed through an editor all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pilothouse_agent.kernel.events import FileChangeKind
from pilothouse_agent.kernel.ports import FileChange, WriteScope

__all__ = ["ClosedFiles", "Intended"]


@dataclass(frozen=True, slots=True)
class Intended:
    """A change that is worked out and not made."""

    change: FileChange
    """As it will be."""
    still: Callable[[], bool]
    """Whether the disk is as it was worked out on. Blocks: call in a thread."""
    doubt: Callable[[], None]
    """To be called when nobody can say what has become of it."""


class ClosedFiles(Protocol):
    def takes(self, kind: FileChangeKind) -> bool:
        """Whether such a change goes through the editor, as things stand now; else it is made on disk."""
        ...

    async def make(self, intended: Intended, scope: WriteScope) -> FileChange | None:
        """Make it, within the queue turn of its files. Raises `ToolError`.

        None: nothing was done, because the files have been opened or changed since; look anew.
        """
        ...

    async def keep(self, change: FileChange) -> FileChange:
        """Told of each change of an open file, as it is committed: one that is open only because of `make`
        is saved as by it. The change as it stands then.
        """
        ...
