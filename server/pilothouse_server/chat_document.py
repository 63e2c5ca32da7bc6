"""The document a chat is kept in, changed through the editor where it is open and on disk where it is not."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.ports import FilePort, FileText
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.chat_text import BLANK
from pilothouse_server.document import Document, DocumentEvent
from pilothouse_server.document_uris import path_of
from pilothouse_server.documents import Documents

__all__ = ["ChatChange", "ChatDocument"]

logger = logging.getLogger(__name__)

ChatChange: TypeAlias = Callable[[str, bool], str]
"""From the newest text to the text wanted; True: an earlier try may have been made after all."""

_PLACE = (".pilothouse", "chat.md")


class ChatDocument:
    """Changes are made in order, those that wait together as one, each tried again until it is made."""

    def __init__(
        self, folder: str, files: FilePort, documents: Documents, *, complain: Callable[[str], None]
    ) -> None:
        """`complain` is told why changes have to wait, once for each such time."""
        self.path = os.path.join(folder, *_PLACE)
        self._folder = folder
        self._files = files
        self._documents = documents
        self._complain = complain
        self._waiting: list[ChatChange] = []
        self._writing: asyncio.Task[None] | None = None
        self._stirred = asyncio.Event()
        self._forget = documents.watch(self._hear)

    @property
    def name(self) -> str:
        """Within its folder."""
        return os.path.relpath(self.path, self._folder)

    @property
    def uri(self) -> str:
        """As the editor spells it, where it is open."""
        document = self.document
        return document.uri if document is not None else path_to_uri(self.path)

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

    def write(self, change: ChatChange) -> None:
        self._waiting.append(change)
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
        failed = False
        while self._waiting:
            batch = tuple(self._waiting)
            self._stirred.clear()
            try:
                await self._apply(batch, again=failed)
            except ToolError as error:
                if not failed:
                    self._complain(str(error))
                failed = True
                await self._stirred.wait()
            else:
                failed = False
                del self._waiting[: len(batch)]

    async def _apply(self, batch: Sequence[ChatChange], *, again: bool) -> None:
        await asyncio.to_thread(_refuse_links, self._folder, self.path)
        change = partial(_changed, batch, again)
        if self.document is not None or await self._files.exists(self.path):
            await self._files.edit(self.path, change, _OwnScope())
        else:
            await self._files.write(self.path, change(None), _OwnScope())

    def _hear(self, document: Document, event: DocumentEvent) -> None:
        if event != "doubted" and self.is_at(document.uri):
            self._stirred.set()


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


def _refuse_links(folder: str, path: str) -> None:
    """A workspace of others could lead the chat into any file of the user's."""
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), *_PLACE):
        shown = Path(*_PLACE)
        raise ToolError(f"{shown} is a link or lies behind one. Remove the link to chat here.")
