"""One document as the editor has it: its text is right, or it is in doubt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeAlias

from pilothouse_agent.files.same_text import same_but_last_end
from pilothouse_server.client.document_uris import path_of
from pilothouse_server.client.positions import Encoding
from pilothouse_server.documents.line_text import LineText, OutsideText
from pilothouse_server.documents.listeners import Listeners
from pilothouse_server.documents.sync_params import Change, Changed, Opened

__all__ = ["Document", "DocumentEvent", "DocumentListener"]

DocumentEvent: TypeAlias = Literal["opened", "changed", "saved", "closed", "doubted"]
"""`changed` comes after every single content change, of which one notification may hold several."""
DocumentListener: TypeAlias = "Callable[[Document, DocumentEvent], object]"


class Document:
    """`uri` is the client's own spelling. Only `unsettle`, `lines`, `changed`, `watch` and `left` are for
    those outside the store."""

    def __init__(self, uri: str, encoding: Encoding) -> None:
        self.uri = uri
        self.encoding: Encoding = encoding
        self.path = path_of(uri)
        """Absolute; None for what is not a file of this machine."""
        self.real_path = self.path
        """With symlinks followed, as far as looked up."""
        self.language = ""
        self.version = 0
        self.closed = False
        self.saved: str | None = None
        """The text that the editor holds for saved; None when that is not known."""
        self.left: str | None = None
        """The text an edit of ours has left saved, in a document that is open only because of that."""
        self.met: str | None = None
        """The text of it that was last seen on disk too."""
        self.read_as: str | None = None
        """The encoding that the client says it has read it as."""
        self.told_at = time.monotonic()
        """When the client last told anything of it."""
        self.latest: Change | None = None
        """What was applied last; None when it was not a change."""
        self.had_file = False
        """Whether there was a file behind it at some time since it was opened."""
        self._lines = LineText("")
        self._lost: str | None = None
        self._unsettled: str | None = None
        self._openings = 0
        self._versioned = False
        self._stirred = asyncio.Event()
        self._listeners = Listeners["Document", "DocumentEvent"]()

    @property
    def text(self) -> str:
        """The newest text that is known; while the document is in doubt it may be wrong."""
        return self._lines.text

    def peek(self) -> str:
        """`text`, from any thread."""
        return self._lines.joined()

    def lines(self, first: int, last: int) -> list[str]:
        """Of `text`, at the cost of these lines: from 0, both included, with their ends."""
        return self._lines.lines(first, last)

    @property
    def doubt(self) -> str | None:
        """Why the text may be wrong, as a clause such as `the editor gave no version number`."""
        return self._lost or self._unsettled

    def unsettle(self, reason: str) -> None:
        """Put it in doubt because an edit may still arrive; the next change or save that fits ends that."""
        self._unsettled = reason
        self._tell("doubted")

    @property
    def lost(self) -> str | None:
        """Why the text may be wrong for good, whatever changes are told of it."""
        return self._lost

    async def settled(self, limit: float) -> None:
        """Wait up to `limit` seconds for what ends a doubt that an edit has left."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while self._unsettled and not self._lost and not self.closed:
                    await self._stirred.wait()

    async def changed(self, after_version: int, limit: float) -> bool:
        """Wait up to `limit` seconds for a higher version, a new opening or the closing.

        Whether one of the first two came. Its text is then the newest, which may be later ones still.
        """
        openings = self._openings
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while not self.closed and self.version <= after_version and self._openings == openings:
                    await self._stirred.wait()
        return self.version > after_version or self._openings != openings

    def watch(self, listener: DocumentListener) -> Callable[[], None]:
        """Told synchronously, in order; returns what ends it."""
        return self._listeners.add(listener)

    def open(self, uri: str, opened: Opened) -> None:
        self.uri, self.path = uri, path_of(uri)
        self.language, self.version = opened.language, opened.version
        self.saved, self.left, self.had_file, self.latest = None, None, False, None
        self._versioned, self.read_as, self.met = True, None, None
        self._openings += 1
        self._take_whole(opened.text)
        self._tell("opened")

    def change(self, changed: Changed) -> None:
        """Apply the changes in order; what does not fit puts the text in doubt."""
        if self._versioned and changed.version <= self.version:
            self._lost = f"the editor changed it from version {self.version} to {changed.version}"
        self.version, self._versioned = changed.version, True
        for change in changed.changes:
            self._apply(change)
            self.latest = change
            self._settle()
            self._tell("changed")
        if not changed.changes:
            self.latest = None
            self._settle()
            self._tell("changed")

    def save(self, text: str | None) -> None:
        """`text`, when the client gave it, is the whole text as it is now: it settles, or it raises doubt."""
        if text is not None:
            self._compare(text)
        self.saved = None if self._lost else self.text
        self.had_file = self.path is not None
        self._tell("saved")

    def lose(self, reason: str) -> None:
        """Something of it could not be understood."""
        self._lost = reason
        self._tell("doubted")

    def close(self) -> None:
        self.closed = True
        self._tell("closed")

    def _compare(self, whole: str) -> None:
        if self._lost or same_but_last_end(whole, self.text):
            self._take_whole(whole)
        else:
            self._lost = "the text that the editor saved is not the one that its changes make"

    def _apply(self, change: Change) -> None:
        if change.span is None:
            self._take_whole(change.text)
        elif self._lost is None:
            try:
                self._lines.replace(*change.span, change.text, self.encoding)
            except OutsideText as error:
                self._lost = f"the editor changed {error}"

    def _take_whole(self, text: str) -> None:
        self._lines = LineText(text)
        self._lost = self._unsettled = None

    def _settle(self) -> None:
        if self._lost is None:
            self._unsettled = None

    def _tell(self, event: DocumentEvent) -> None:
        if event != "doubted":
            self.told_at = time.monotonic()
        stirred, self._stirred = self._stirred, asyncio.Event()
        stirred.set()
        self._listeners.tell(self, event)
