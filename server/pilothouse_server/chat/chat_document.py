"""The document a chat is kept in, changed through the editor where it is open and on disk where it is not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import NamedTuple, TypeAlias

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.ports import FilePort, FileText
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.chat.chat_text import BLANK
from pilothouse_server.client.document_uris import path_of
from pilothouse_server.documents.chat_place import ChatPlace
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents
from pilothouse_server.documents.listeners import Listeners

__all__ = ["ChatChange", "ChatDocument"]

logger = logging.getLogger(__name__)

ChatChange: TypeAlias = Callable[[str, bool], str]
"""From the newest text to the text wanted; True: an earlier try may have been made after all."""

_FIRST_RETRY, _LAST_RETRY = 0.5, 30.0
"""Seconds between tries to write; any change of the document brings the next one at once."""


class _Waiting(NamedTuple):
    change: ChatChange
    made: Callable[[], object] | None


class ChatDocument:
    """Changes are made in order, those that wait together as one, each tried again until it is made.

    A failure to write is no news to anybody who works: it is tried again without a word.
    """

    def __init__(
        self, place: ChatPlace, files: FilePort, documents: Documents, uri_of: Callable[[str], str]
    ) -> None:
        """`uri_of` spells paths as the editor does."""
        self.path = place.path
        self.name = place.name
        """Within its folder."""
        self._place = place
        self._files = files
        self._documents = documents
        self._uri_of = uri_of
        self._waiting: list[_Waiting] = []
        self._watchers = Listeners[Document]()
        self._writing: asyncio.Task[None] | None = None
        self._stirred = asyncio.Event()
        self._forget = documents.watch(self._hear)

    @property
    def uri(self) -> str:
        document = self.document
        return document.uri if document is not None else self._uri_of(self.path)

    @property
    def document(self) -> Document | None:
        return next((each for each in self._documents.all() if self.is_at(each.uri)), None)

    def is_at(self, uri: str) -> bool:
        document = self._documents.get(uri)
        return self.path in (path_of(uri), document.real_path if document is not None else None)

    async def text(self) -> str:
        """The newest text. Raises `ToolError`."""
        document = self.document
        if document is not None and not document.doubt:
            return document.text
        if document is None and not await self._files.exists(self.path):
            return ""
        return (await self._files.read(self.path)).text

    def watch(self, listener: Callable[[Document], object]) -> None:
        """Told of the open document whenever its text may have changed."""
        self._watchers.add(listener)

    def write(self, change: ChatChange, made: Callable[[], object] | None = None) -> None:
        """`made` is called when the document has taken it."""
        self._waiting.append(_Waiting(change, made))
        self._stirred.set()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def made(self) -> None:
        """Make the file, unless it is there. Raises `ToolError`."""
        if self.document is None:
            await self._apply([lambda text, _: text], again=False)

    async def settled(self, limit: float) -> None:
        """Wait up to `limit` seconds until every change is made."""
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=limit)

    def close(self) -> None:
        self._forget()
        if self._writing is not None:
            self._writing.cancel()

    async def _write(self) -> None:
        pause = 0.0
        while self._waiting:
            batch = tuple(self._waiting)
            self._stirred.clear()
            try:
                await self._apply([each.change for each in batch], again=pause > 0)
            except ToolError as error:
                logger.info("The chat could not be written and is tried again: %s", error)
                pause = min(max(2 * pause, _FIRST_RETRY), _LAST_RETRY)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._stirred.wait()
            else:
                pause = 0.0
                del self._waiting[: len(batch)]
                for each in batch:
                    if each.made is not None:
                        each.made()

    async def _apply(self, batch: Sequence[ChatChange], *, again: bool) -> None:
        if await asyncio.to_thread(lambda: self._place.leads_elsewhere):
            raise ToolError(f"{self.name} is a link or lies behind one. Remove the link to chat here.")
        change = partial(_changed, batch, again)
        if self.document is not None or await self._files.exists(self.path):
            await self._files.edit(self.path, change, _OwnScope())
        else:
            await self._files.write(self.path, change(None), _OwnScope())

    def _hear(self, document: Document, event: DocumentEvent) -> None:
        if event != "doubted" and self.is_at(document.uri):
            self._stirred.set()
            self._watchers.tell(document)


class _OwnScope:
    """A change that no call of a model makes."""

    consent = None
    call_id = ""

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def pending_write(self, path: str) -> AbstractContextManager[None]:
        return nullcontext()

    def committing(self) -> AbstractContextManager[None]:
        return nullcontext()


def _changed(batch: Sequence[ChatChange], again: bool, file: FileText | None) -> str:
    text = file.text if file is not None and file.text.strip() else BLANK
    for change in batch:
        text = change(text, again)
    return text
