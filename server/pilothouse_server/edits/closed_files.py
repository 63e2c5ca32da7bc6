"""Files that are not open, changed through the editor so that its undo knows of it, and saved by it.

Only with clients that check an edit as a whole before they make any of it and that save when they are
asked: others lose unsaved text or leave the disk behind. The files' queue turn is held by the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from pilothouse_agent.files.closed_files import Intended
from pilothouse_agent.files.in_flight import outlast
from pilothouse_agent.files.same_text import same_but_last_end, same_text
from pilothouse_agent.files.uris import path_to_uri
from pilothouse_agent.kernel.events import FileChangeKind
from pilothouse_agent.kernel.ports import FileChange, WriteScope
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.settings.settings import ClosedFiles as Route
from pilothouse_server.client.clients import ClientProfile
from pilothouse_server.documents.disk_look import LOOK_LIMIT, look_at
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.closed_edit import closed_edit, is_on_disk, plain, puts_text
from pilothouse_server.edits.closed_request import ClosedRequest
from pilothouse_server.edits.edit_request import Limits, Outcome
from pilothouse_server.edits.saving import ask_to_save
from pilothouse_server.protocol.models import ClientFeatures
from pilothouse_server.transport.rpc import Rpc

__all__ = ["NOT_DECLARED", "EditorClosedFiles", "kinds_taken"]

Kinds: TypeAlias = frozenset[FileChangeKind]

NOT_DECLARED = (
    "The setting edits.closedFiles is editor, but this client does not declare both edits.preflight and "
    "save. Without these, files that are not open are changed on disk."
)
_NOT_THERE = "the editor says that it was saved, but the disk does not hold it"
_CLOSED = "it was closed before it was saved"


def kinds_taken(profile: ClientProfile, features: ClientFeatures) -> Kinds:
    """What a client can be asked to do with files that are not open."""
    if not (profile.takes_edits and features.edits.preflight and features.save):
        return frozenset()
    kinds: tuple[FileChangeKind, ...] = ("create", "rename", "delete")
    return frozenset({"modify", *(kind for kind in kinds if kind in profile.resource_operations)})


class EditorClosedFiles:
    """Implements `ClosedFiles` with one client."""

    def __init__(
        self,
        rpc: Rpc,
        documents: Documents,
        kinds: Kinds,
        *,
        route: Callable[[], Route],
        display: Callable[[str], str] = str,
        uri_of: Callable[[str], str] = path_to_uri,
        limits: Limits | None = None,
    ) -> None:
        """`route` is asked before each change; `uri_of` spells paths as the editor does."""
        self._rpc = rpc
        self._documents = documents
        self._kinds = kinds
        self._route = route
        self._show = display
        self._uri_of = uri_of
        self._limits = limits or Limits()

    def takes(self, kind: FileChangeKind) -> bool:
        return self._route() != "disk" and kind in self._kinds

    async def make(self, intended: Intended, scope: WriteScope) -> FileChange | None:
        change = intended.change
        words = await asyncio.to_thread(_Words, change, self._show)
        edit = await asyncio.to_thread(closed_edit, change, self._documents.encoding, self._uri_of)
        if not await self._is_untouched(intended):
            return None
        with scope.committing():
            request = ClosedRequest(self._rpc, self._documents, change, self._limits)
            source = self._document(change.source) if change.source is not None else None
            try:
                outcome = await request.send(edit, f"Pilothouse: {Path(change.path).name}", scope.signal)
                if outcome.kind == "applied":
                    return await self._settled(change, source)
            except asyncio.CancelledError:
                self._unsettle(intended, "nobody waited for its outcome")
                raise
            except _Lost as lost:
                outcome = Outcome("unknown", reason=str(lost))
            if outcome.kind != "refused" or not (outcome.explained or not await _answered(intended.still)):
                if outcome.kind == "unknown":
                    self._unsettle(intended, outcome.reason)
                # Raised in here, since a write that ends otherwise counts as made.
                raise words.failure(outcome)
        return None

    async def keep(self, change: FileChange) -> FileChange:
        document = self._document(change.path)
        if document is None or document.left is None or document.left != change.before:
            return change
        # The change is made, and must be told of also when the call is cancelled meanwhile.
        with suppress(TimeoutError):
            return await outlast(self._kept(document, change), limit=self._limits.save + 3 * LOOK_LIMIT)
        return change

    async def _kept(self, document: Document, change: FileChange) -> FileChange:
        refusal = await self._save(document, change)
        if refusal is None and await _answered(lambda: _is_saved_as(change.path, change.after or "")):
            document.left = change.after
            return change
        try:
            return await self._unsaved(change, refusal)
        except _Lost:
            return change

    async def _is_untouched(self, intended: Intended) -> bool:
        """Whether all is as the change was worked out on, in the step in which this returns."""
        change = intended.change
        paths = [path for path in (change.source, change.path) if path is not None]
        found = [document for path in paths for document in await self._documents.locate(path)]
        if found and puts_text(change):
            return False
        versions = [(document, document.version) for document in found]
        for path in paths:
            if await self._documents.unsaved(path):
                return False
        if not await _answered(intended.still):
            return False
        now = [document for path in paths for document in self._documents.of_path(path)]
        return versions == [(document, document.version) for document in now]

    async def _settled(self, change: FileChange, source: Document | None) -> FileChange:
        """`source` is the document of what was moved. Raises `_Lost`."""
        if puts_text(change):
            return await self._saved(change)
        moved = self._document(change.path)
        if moved is not None and source is not None and source.left == moved.text:
            moved.left = moved.text
        return change

    async def _saved(self, change: FileChange) -> FileChange:
        """As it stands once it is on disk; noted when it is in the editor only. Raises `_Lost`."""
        refusal = None
        if not await _answered(lambda: is_on_disk(change)):
            document = self._document(change.path)
            refusal = await self._save(document, change)
            if not await _answered(lambda: is_on_disk(change)):
                return await self._unsaved(change, refusal)
        held = self._document(change.path)
        if held is None or not _holds(held, change):
            return change
        held.left = held.text
        return _as_held(change, held.text)

    async def _save(self, document: Document | None, change: FileChange) -> str | None:
        """Why not, as a clause. Never what the user has typed since."""
        if document is None:
            return _CLOSED
        if not _holds(document, change):
            return "it has been changed there since"
        return await ask_to_save(self._rpc, [document], limit=self._limits.save)

    async def _unsaved(self, change: FileChange, refusal: str | None) -> FileChange:
        document = self._document(change.path)
        if document is None:
            raise _Lost(_CLOSED)
        if refusal is None and await _answered(lambda: _is_saved_as(change.path, document.text)):
            document.left = document.text
            return replace(
                change, note="Saving it changed its text further, perhaps by formatting it. Read it again."
            )
        reason = (refusal or _NOT_THERE).rstrip(".")
        held = _as_held(change, document.text) if _holds(document, change) else change
        return replace(held, note=f"It stands in the editor only and is not on disk yet: {reason}.")

    def _document(self, path: str) -> Document | None:
        return next(iter(self._documents.of_path(path)), None)

    def _unsettle(self, intended: Intended, reason: str) -> None:
        intended.doubt()
        for document in self._documents.of_path(intended.change.path):
            document.unsettle(f"an edit was sent, and {reason}")


class _Lost(Exception):
    """The change was seen, and it is neither in the editor nor on disk any more."""


class _Words:
    """How messages name a change. Looks at the disk: make it in a thread."""

    def __init__(self, change: FileChange, show: Callable[[str], str]) -> None:
        shown = show(change.path)
        match change.kind:
            case "rename":
                source = show(change.source or "")
                self._undone, self._sent = f"{source} was not moved to {shown}", f"the move of {source}"
            case "delete":
                self._undone, self._sent = f"{shown} was not deleted", f"the deletion of {shown}"
            case "create":
                self._undone, self._sent = f"{shown} was not created", f"the creation of {shown}"
            case "modify":
                self._undone, self._sent = f"{shown} was not changed", f"an edit of {shown}"

    def failure(self, outcome: Outcome) -> ToolError:
        if outcome.kind == "refused":
            return ToolError(f"{self._undone}: {outcome.reason.rstrip('.')}. Nothing was done.")
        if outcome.kind == "otherwise":
            return ToolError(
                f"The editor says that it took {self._sent}, {outcome.reason}. Read it again before it is "
                "changed."
            )
        return ToolError(
            f"Outcome unknown: {self._sent} was sent, and {outcome.reason}. Read it again before it is "
            "changed."
        )


def _holds(document: Document, change: FileChange) -> bool:
    return document.doubt is None and same_but_last_end(plain(document.text), plain(change.after))


def _as_held(change: FileChange, text: str) -> FileChange:
    """In the line ends in which it will be read again."""
    before = change.before
    if before is not None and "\r" not in text:
        before = plain(before)
    return replace(change, before=before, after=text)


def _is_saved_as(path: str, text: str) -> bool:
    found = look_at(path).text
    return found is not None and same_text(text, found)


async def _answered(look: Callable[[], bool]) -> bool:
    """A look at the disk; without an answer in time it is a no."""
    try:
        async with asyncio.timeout(LOOK_LIMIT):
            return await asyncio.to_thread(look)
    except TimeoutError:
        return False
