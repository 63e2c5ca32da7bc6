"""Files that the editor has open, read as the user sees them and changed through the editor.

Steps 1 to 8 of design.md, "Files through the editor"; the file's queue turn is held by the caller.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pilothouse_agent.files.closed_files import ClosedFiles
from pilothouse_agent.files.codec import NotText, decode
from pilothouse_agent.files.encodings import DeclaredEncodings
from pilothouse_agent.files.open_files import UnsavedFile
from pilothouse_agent.files.same_text import same_text
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.foreign_documents import uri_for_path
from pilothouse_agent.kernel.ports import FileChange, FileText, TextChange, WriteScope
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.client.clients import USUAL, ClientProfile
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.edit_request import Limits, Outcome
from pilothouse_server.edits.editor_edits import EditorEdits
from pilothouse_server.edits.failed_edits import failed_edit
from pilothouse_server.edits.landings import Landing
from pilothouse_server.edits.round_trip import refuse_unencodable, round_trip_fault
from pilothouse_server.edits.text_edits import TextEdit, in_own_line_ends, text_edits
from pilothouse_server.edits.trusted_documents import TrustedDocuments
from pilothouse_server.transport.rpc import Rpc

__all__ = ["EditorFiles"]

logger = logging.getLogger(__name__)

_MISPLACED = "but its text had moved meanwhile, and the edit may stand in a wrong place"
_SHOWS_OLD = (
    "The file was changed on disk, and this is the text from before, which the editor still shows. Ask the "
    "user to reload it there; until then it cannot be edited."
)
_FOREIGN = "This is a document in the editor that is not a file here. It can only be read."
_TRIES = 10
_UNEXPLAINED = 2
"""Refusals without a newer text that an edit is tried for: the second time the answer is meant."""


class _Place(NamedTuple):
    """A file as it was when a call began."""

    shown: str
    """As messages name it."""
    exists: bool
    data: bytes | None


class _Refused(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


class _Overtaken(Exception):
    def __init__(self, document: Document, shown: str) -> None:
        super().__init__(
            f"{shown} was changed on disk, and the editor still shows the text from before. Nothing was "
            "done. Ask the user to reload it in the editor."
        )
        self.document = document


class EditorFiles:
    """Implements `OpenFiles` over the documents of one client."""

    def __init__(
        self,
        rpc: Rpc,
        documents: Documents,
        *,
        profile: ClientProfile = USUAL,
        display: Callable[[str], str] = str,
        limits: Limits | None = None,
        labelled: bool = True,
        can_reload: bool = False,
        closed: ClosedFiles | None = None,
        encodings: DeclaredEncodings | None = None,
        tell: Callable[[str], object] = logger.warning,
    ) -> None:
        """`labelled`: edits carry a name, which some editors show to the user each time; `tell` is for
        what the user must know.
        """
        self.closed = closed
        self._documents = documents
        self._declared = (encodings or DeclaredEncodings(editor=documents.read_as)).of
        self._profile = profile
        self._show = display
        self._tell = tell
        self._limits = limits or Limits()
        self._trusted = TrustedDocuments(documents, display, settle=self._limits.settle)
        self._edits = EditorEdits(
            rpc, documents, profile, self._limits, labelled=labelled, can_reload=can_reload
        )

    async def holds(self, path: str) -> bool:
        """With a client that takes no edits only files with unsaved text are held, to be refused."""
        await self._trusted.refuse_notebook(path)
        if self._profile.takes_edits or uri_for_path(path) is not None:
            return bool(await self._documents.locate(path))
        return bool(await self._documents.unsaved(path))

    async def read(self, path: str) -> FileText:
        await self._trusted.settled(path)
        place = await asyncio.to_thread(partial(self._look, path, whole=True))
        document = self._trusted.document(path, place.shown)
        _refuse_deleted(document, place)
        note = await asyncio.to_thread(self._note, document, path, document.text, place)
        if note == _SHOWS_OLD:
            await self._edits.reloaded(document)
            document = self._trusted.document(path, place.shown)
            place = await asyncio.to_thread(partial(self._look, path, whole=True))
            note = await asyncio.to_thread(self._note, document, path, document.text, place)
        return replace(_file(path, document.text), note=note)

    def _note(self, document: Document, path: str, text: str, place: _Place) -> str:
        if uri_for_path(path) is not None:
            return _FOREIGN
        if self._is_overtaken(document, path, text, place):
            return _SHOWS_OLD
        fault = self._fault(path, text, place)
        return f"It cannot be edited: {fault}" if fault else ""

    def _is_overtaken(self, document: Document, path: str, text: str, place: _Place) -> bool:
        """Whether the disk has moved on from what the document and it had in common."""
        if text != document.met or place.data is None:
            return False
        try:
            on_disk = decode(place.data, place.shown, declared=self._declared(path)).text
        except NotText:
            return False
        return not same_text(text, on_disk)

    def foreign(self, uri: str) -> str | None:
        return self._documents.foreign(uri)

    def encoding(self, path: str) -> str | None:
        return self._documents.read_as(path)

    def _fault(self, path: str, text: str, place: _Place) -> str | None:
        return round_trip_fault(text, place.data, shown=place.shown, declared=self._declared(path))

    def peek(self, path: str) -> FileText | None:
        found = self._documents.of_path(path)
        if not found or not (self._profile.takes_edits or any(_may_be_unsaved(each) for each in found)):
            return None
        # A preview of a text that an edit may still change is asked about again if it does.
        return _file(path, self._trusted.document(path, self._show(path), unsettled=True).peek())

    async def change(self, path: str, change: TextChange, scope: WriteScope) -> FileChange:
        refusal, unexplained, reloaded = "", 0, False
        for _ in range(_TRIES):
            try:
                done = await self._once(path, change, scope)
            except _Overtaken as overtaken:
                if reloaded:
                    raise ToolError(str(overtaken)) from None
                reloaded = True
                await self._edits.reloaded(overtaken.document)
            except _Refused as refused:
                refusal = refused.outcome.reason
                unexplained += not refused.outcome.explained
            else:
                if done is not None:
                    return done
            if unexplained == _UNEXPLAINED:
                break
        raise await self._unchanged(path, refusal or "its text changes all the time")

    async def refuse_unsaved(self, paths: Sequence[str]) -> None:
        for path in paths:
            await self._trusted.settled(path)
            await self._trusted.refuse_notebook(path)
            if await self._documents.unsaved(path):
                shown = await asyncio.to_thread(self._show, path)
                raise ToolError(
                    f"{shown} has unsaved text in the editor, which would be lost. Nothing was done. Ask the "
                    "user to save it first."
                )

    async def unsaved(self) -> Sequence[UnsavedFile]:
        """One for each file, though it may be open twice."""
        paths = {document.real_path for document in self._documents.all() if _may_be_unsaved(document)}
        found = [await self._unsaved(path) for path in sorted(path for path in paths if path is not None)]
        return [file for file in found if file is not None]

    async def _unsaved(self, path: str) -> UnsavedFile | None:
        documents = await self._documents.unsaved(path)
        if not documents:
            return None
        look = await self._documents.looks.at(path)
        on_disk = look is not None and look.exists
        first, *others = documents
        gone = first.had_file and not on_disk
        certain = not (others or gone or first.doubt)
        return UnsavedFile(path, first.text if certain else None, on_disk)

    async def compare(self, change: FileChange) -> None:
        if not self._profile.takes_edits or change.after is None:
            return
        for document in await self._documents.locate(change.path):
            if not await self._comes_to_read(document, change.after):
                shown = await asyncio.to_thread(self._show, change.path)
                raise ToolError(
                    f"{shown} was written on disk, and the editor has opened it meanwhile with another text. "
                    "Read it again before it is changed."
                )

    async def _comes_to_read(self, document: Document, text: str) -> bool:
        """An editor that opened the old text may be about to load the new one."""
        if not same_text(document.text, text):
            await document.changed(document.version, self._limits.retry)
        return document.closed or same_text(document.text, text)

    async def _once(self, path: str, change: TextChange, scope: WriteScope) -> FileChange | None:
        """One try: the change when it was seen; None when the text moved on before. Raises `_Refused`."""
        document = await self._quiet(path)
        version, text = document.version, document.text
        planned = await asyncio.to_thread(self._planned, document, path, text, change)
        if planned is None:
            return FileChange(path, "modify", "editor", text, text)
        expected, edits = planned
        await self._edits.all_told()
        if document.doubt or document.closed or document.version != version or document.text != text:
            return None
        with scope.committing():
            outcome = await self._edits.send(document, expected, edits, scope.signal)
            if outcome.landing is not None:
                outcome = await self._taken_back(document, outcome.landing, path, scope.signal)
            if outcome.kind == "applied":
                done = FileChange(path, "modify", "editor", text, outcome.text)
                return await self.closed.keep(done) if self.closed is not None else done
            made = FileChange(path, "modify", "editor", text, outcome.text)
            # Raised in here, since a write that ends otherwise counts as made.
            raise await self._not_made(document, outcome, made, scope.signal)

    async def _not_made(
        self, document: Document, outcome: Outcome, made: FileChange, signal: AbortSignal
    ) -> Exception:
        if outcome.kind == "refused" and signal.aborted:
            reason = f"{outcome.reason}, and the run was aborted before another try"
            return await self._unchanged(made.path, reason)
        if outcome.kind == "refused":
            return _Refused(outcome)
        shown = await asyncio.to_thread(self._show, made.path)
        if outcome.kind == "otherwise" and self._profile.versions != "exact":
            outcome = replace(outcome, reason=_MISPLACED)
            self._tell(
                f"{shown} may have been edited in a wrong place, since its text had moved. Look at it."
            )
        return failed_edit(document, shown, outcome, made)

    async def _taken_back(
        self, document: Document, landing: Landing, path: str, signal: AbortSignal
    ) -> Outcome:
        """Put back what an edit has replaced in a wrong place; then it counts as refused."""
        shown = await asyncio.to_thread(self._show, path)
        moved = f"An edit met {shown} while its text was moving"
        if await self._edits.take_back(document, landing, signal):
            self._tell(f"{moved}. What it replaced there has been put back.")
            return Outcome("refused", reason="its text had moved, which was seen and mended", explained=True)
        self._tell(f"{moved}, and replaced this: {landing.replaced!r}. Undo in the editor brings it back.")
        return Outcome("otherwise", reason=_MISPLACED)

    async def _quiet(self, path: str) -> Document:
        """The document, in a moment in which an edit of it may be sent."""
        if not await self._edits.quiet(await self._trusted.settled_document(path)):
            shown = await asyncio.to_thread(self._show, path)
            raise ToolError(
                f"{shown} is being changed in the editor all the time, which takes edits only for whatever "
                "text it has just then. Nothing was done. Try again when the user pauses."
            )
        return await self._trusted.settled_document(path)

    def _planned(
        self, document: Document, path: str, text: str, change: TextChange
    ) -> tuple[str, tuple[TextEdit, ...]] | None:
        """The text wanted and the edits that make it; None when it is there already.

        Blocks: the look at the disk and the work share a thread, since changing threads is dear.
        """
        place = self._look(path, whole=True)
        self._refuse_unfit(document, path, place, text)
        if self._is_overtaken(document, path, text, place):
            raise _Overtaken(document, place.shown)
        wanted = in_own_line_ends(change(_file(path, text)), text)
        refuse_unencodable(wanted, place.data, shown=place.shown, declared=self._declared(path))
        edits = text_edits(text, wanted, document.encoding)
        return (wanted, edits) if edits else None

    def _look(self, path: str, *, whole: bool = False) -> _Place:
        """Blocks: call in a thread."""
        data = _bytes(path) if whole else None
        return _Place(self._show(path), os.path.lexists(path), data)

    def _refuse_unfit(self, document: Document, path: str, place: _Place, text: str) -> None:
        """Steps 1 and 2: a file that is gone, or that the editor would ruin in saving."""
        if not self._profile.takes_edits:
            raise ToolError(
                f"{place.shown} has unsaved text in the editor, which takes no edits from outside. Nothing "
                "was done. Ask the user to save it first."
            )
        _refuse_deleted(document, place)
        if fault := self._fault(path, text, place):
            raise ToolError(fault)

    async def _unchanged(self, path: str, why: str) -> ToolError:
        shown = await asyncio.to_thread(self._show, path)
        return ToolError(f"{shown} was not changed: {why}. The edit has not been made.")


def _refuse_deleted(document: Document, place: _Place) -> None:
    if document.had_file and not place.exists:
        raise ToolError(
            f"{place.shown} is gone on disk but still open in the editor. Nothing was done. Ask the user "
            "whether to save it again or to close it."
        )


def _may_be_unsaved(document: Document) -> bool:
    return document.doubt is not None or document.peek() != document.saved


def _file(path: str, text: str) -> FileText:
    return FileText(path, text, "utf-8")


def _bytes(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
