"""Files that the editor has open, read as the user sees them and changed through the editor.

Steps 1 to 8 of design.md, "Files through the editor"; the file's queue turn is held by the caller.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from pilothouse_agent.files.diff import diff_texts
from pilothouse_agent.kernel.ports import FileChange, FileText, TextChange, WriteScope
from pilothouse_agent.kernel.tooling import Hunk, ToolError
from pilothouse_server.document import Document
from pilothouse_server.documents import Documents
from pilothouse_server.edit_request import EditRequest, Limits, Outcome
from pilothouse_server.positions import Encoding
from pilothouse_server.round_trip import round_trip_fault
from pilothouse_server.text_edits import TextEdit, in_own_line_ends, same_but_last_end, text_edits
from pilothouse_server.transport.rpc import Rpc

__all__ = ["EditorFiles"]

_TRIES = 10


class EditorFiles:
    """Implements `OpenFiles` over the documents of one client."""

    def __init__(
        self,
        rpc: Rpc,
        documents: Documents,
        *,
        display: Callable[[str], str] = str,
        limits: Limits | None = None,
    ) -> None:
        self._rpc = rpc
        self._documents = documents
        self._show = display
        self._limits = limits or Limits()

    async def holds(self, path: str) -> bool:
        return bool(await self._documents.locate(path))

    async def read(self, path: str) -> FileText:
        document = self._document(path)
        await self._refuse_deleted(document, path)
        return _file(path, document.text)

    def peek(self, path: str) -> FileText | None:
        if not self._documents.of_path(path):
            return None
        return _file(path, self._document(path).text)

    async def change(self, path: str, change: TextChange, scope: WriteScope) -> FileChange:
        document = self._document(path)
        await self._refuse_unfaithful(document, path)
        before = document.text
        reason = ""
        for _ in range(_TRIES):
            scope.signal.raise_if_aborted()
            outcome = await self._once(document, path, change, scope)
            if isinstance(outcome, FileChange):
                return outcome
            if outcome is not None:
                reason = outcome.reason
                await document.changed(document.version, self._limits.retry)
            document = self._document(path)
        why = reason or "its text changes all the time"
        state = "is as it was" if document.text == before else "has been changed by others only"
        raise ToolError(f"{self._show(path)} could not be changed: {why}. The file {state}.")

    async def refuse_unsaved(self, paths: Sequence[str]) -> None:
        for path in paths:
            if await self._documents.unsaved(path):
                raise ToolError(
                    f"{self._show(path)} has unsaved text in the editor, which would be lost. Nothing was "
                    "done. Ask the user to save it first."
                )

    async def compare(self, change: FileChange) -> None:
        for document in await self._documents.locate(change.path):
            if change.after is not None and not same_but_last_end(document.text, change.after):
                raise ToolError(
                    f"{self._show(change.path)} was written on disk, and the editor has opened it meanwhile "
                    "with another text. Read it again before it is changed."
                )

    async def _once(
        self, document: Document, path: str, change: TextChange, scope: WriteScope
    ) -> FileChange | Outcome | None:
        """One try: the change when it was seen, a refusal, or None when the text moved on meanwhile."""
        version, text = document.version, document.text
        planned = await asyncio.to_thread(_planned, change, _file(path, text), document.encoding)
        if planned is None:
            return FileChange(path, "modify", "editor", text, text)
        expected, edits, hunks = planned
        if document.doubt or document.closed or document.version != version or document.text != text:
            return None
        with scope.committing():
            asked = EditRequest(self._rpc, document, expected=expected, hunks=hunks)
            outcome = await asked.send(edits, f"Pilothouse: {Path(path).name}", self._limits)
        match outcome.kind:
            case "applied":
                return FileChange(path, "modify", "editor", text, outcome.text)
            case "refused":
                return outcome
            case "otherwise":
                raise self._differs(path)
            case "unknown":
                document.unsettle(f"an edit was sent and {outcome.reason}")
                raise self._unknown(path, outcome.reason)

    def _document(self, path: str) -> Document:
        """The one open document of a file, when its text can be trusted."""
        found = self._documents.of_path(path)
        if not found:
            raise ToolError(f"{self._show(path)} was closed in the editor meanwhile. Try again.")
        if len(found) > 1:
            names = ", ".join(document.uri for document in found)
            raise ToolError(
                f"{self._show(path)} is open twice, as {names}. Ask the user to close one of them; a "
                "change of one would be lost by saving the other."
            )
        if found[0].doubt:
            raise ToolError(
                f"The editor's text of {self._show(path)} is not known for certain: {found[0].doubt}. Ask "
                "the user to save or reopen it."
            )
        return found[0]

    async def _refuse_deleted(self, document: Document, path: str) -> None:
        if document.saved is not None and not await asyncio.to_thread(os.path.lexists, path):
            raise ToolError(
                f"{self._show(path)} is gone on disk but still open in the editor. Nothing was done. Ask "
                "the user whether to save it again or to close it."
            )

    async def _refuse_unfaithful(self, document: Document, path: str) -> None:
        """Steps 1 and 2: a file that is gone, or that the editor would ruin in saving."""
        await self._refuse_deleted(document, path)
        data = await asyncio.to_thread(_bytes, path)
        if fault := round_trip_fault(document.text, data, shown=self._show(path)):
            raise ToolError(fault)

    def _differs(self, path: str) -> ToolError:
        return ToolError(
            f"The editor took the edit of {self._show(path)}, and the text is now another than was asked "
            "for, perhaps formatted. Read it again before it is changed."
        )

    def _unknown(self, path: str, reason: str) -> ToolError:
        return ToolError(
            f"Outcome unknown: an edit of {self._show(path)} was sent, and {reason}. It is not changed again "
            "until the editor has told its text. Read it before going on."
        )


def _planned(
    change: TextChange, file: FileText, encoding: Encoding
) -> tuple[str, tuple[TextEdit, ...], tuple[Hunk, ...]] | None:
    """The text wanted and the edits that make it; None when it is there already. Runs in a thread."""
    wanted = in_own_line_ends(change(file), file.text)
    edits = text_edits(file.text, wanted, encoding)
    return (wanted, edits, diff_texts(file.text, wanted)) if edits else None


def _file(path: str, text: str) -> FileText:
    return FileText(path, text, "utf-8")


def _bytes(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
