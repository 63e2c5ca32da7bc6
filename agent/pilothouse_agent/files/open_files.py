"""The seam for files that somebody else holds open: they are read and changed there, not on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pilothouse_agent.files.closed_files import ClosedFiles
from pilothouse_agent.kernel.ports import FileChange, FileText, TextChange, WriteScope
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["OpenFiles", "PartlyChanged", "UnsavedFile"]


class PartlyChanged(ToolError):
    """Only a part of what was asked has been done to a text."""

    def __init__(self, text: str, change: FileChange) -> None:
        super().__init__(text)
        self.change = change


@dataclass(frozen=True, slots=True)
class UnsavedFile:
    """An open file that is not on disk as it is open."""

    path: str
    """Real."""
    text: str | None
    """None: it is not known for certain, or its file is gone."""
    on_disk: bool
    """There is a file, with another text."""


class OpenFiles(Protocol):
    """Paths are real. All but `peek` raise `ToolError` with a reason the model can act on."""

    @property
    def closed(self) -> ClosedFiles | None:
        """Who may change the other files; None: they are changed on disk."""
        ...

    async def holds(self, path: str) -> bool:
        """Whether it is open there; a text that cannot be trusted is refused."""
        ...

    async def read(self, path: str) -> FileText:
        """The text of an open file as the user sees it; its `note` says why an edit would be refused."""
        ...

    def foreign(self, uri: str) -> str | None:
        """The path that stands for an open document that is no file and can only be read; from any thread.

        None: there is none of this URI.
        """
        ...

    def encoding(self, path: str) -> str | None:
        """What the editor says it has read an open file as, in its own spelling; from any thread.

        None: the file is not open, or the editor does not tell.
        """
        ...

    def peek(self, path: str) -> FileText | None:
        """The same for previews, from any thread; None when it is not open."""
        ...

    async def change(self, path: str, change: TextChange, scope: WriteScope) -> FileChange:
        """Change an open file, within its queue turn; `change` is asked anew for each newer text.

        Raises `PartlyChanged` too.
        """
        ...

    async def refuse_unsaved(self, paths: Sequence[str]) -> None:
        """Raise when one of them has text that only the editor holds (kernel.md F6)."""
        ...

    async def unsaved(self) -> Sequence[UnsavedFile]:
        """All of them, for searches; does not raise."""
        ...

    async def compare(self, change: FileChange) -> None:
        """After a change on disk: raise when the file was opened meanwhile with another text."""
        ...
