"""Keeps the end of the chat in view for whoever was there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from pilothouse_server.chat.chat_document import ChatDocument
from pilothouse_server.chat.chat_text import draft_line
from pilothouse_server.client.positions import Position, content_of, position_in, units
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import ClientGone, RequestFault

__all__ = ["ChatFollowing"]

_LIMIT = 5.0
"""Seconds the editor has to show it."""


class ChatFollowing:
    """Editors do not tell where somebody looks. What they do tell: which document was typed in or saved
    last, and where code actions were asked for."""

    def __init__(self, rpc: Rpc, documents: Documents, document: ChatDocument, *, tells_cursor: bool) -> None:
        """`tells_cursor`: code actions are asked for at each move of the cursor."""
        self._rpc = rpc
        self._document = document
        self._tells_cursor = tells_cursor
        self._present = document.document is not None
        self._cursor: Position | None = None
        self._showing: asyncio.Task[None] | None = None
        documents.watch(self._hear)

    def asked(self, params: Mapping[str, Any]) -> None:
        """Code actions were asked for."""
        document = cast("dict[str, Any]", params.get("textDocument") or {})
        span = cast("dict[str, Any]", params.get("range") or {})
        self._present = self._document.is_at(str(document.get("uri")))
        self._cursor = position_in(span.get("end")) if self._present else None

    def sent(self) -> None:
        """A draft has become a message: what comes next stands at the end."""
        if self._present:
            self._show()

    def grew(self) -> None:
        """Only as long as it is known that the cursor stands in the draft."""
        document = self._document.document
        if not (self._present and self._tells_cursor) or document is None or self._cursor is None:
            return
        if self._cursor.line >= draft_line(document.text):
            self._show()

    def _show(self) -> None:
        document = self._document.document
        if document is not None and not document.doubt and (self._showing is None or self._showing.done()):
            self._showing = asyncio.create_task(self._shown(document))

    async def _shown(self, document: Document) -> None:
        end = _end_of(document).to_wire()
        params = {"uri": document.uri, "takeFocus": False, "selection": {"start": end, "end": end}}
        with suppress(RequestFault, ClientGone, TimeoutError):
            await self._rpc.request(names.SHOW_DOCUMENT, params, limit=_LIMIT)

    def _hear(self, document: Document, event: DocumentEvent) -> None:
        ours = self._document.is_at(document.uri)
        if event in ("changed", "saved", "opened") and not (ours and event == "changed"):
            self._present = ours
        elif event == "closed" and ours:
            self._present, self._cursor = False, None


def _end_of(document: Document) -> Position:
    """The end of the last line that all editors have: some know none behind the last line end."""
    lines = document.text.split("\n")
    number = len(lines) - 2 if len(lines) > 1 and not lines[-1] else len(lines) - 1
    return Position(number, units(content_of(lines[number]), document.encoding))
