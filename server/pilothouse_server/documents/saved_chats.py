"""What is saved in chats, also before there is anybody who sends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pilothouse_server.documents.chat_place import is_chat
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents

__all__ = ["SavedChats"]

Sender: TypeAlias = Callable[[Document, str], object]

_MOST = 100


class SavedChats:
    """Hears of saves from the first message on. Those that come while the agent is being loaded came before
    every message that is held for it, so they are handed over first."""

    def __init__(self, documents: Documents) -> None:
        self._early: list[tuple[Document, str]] = []
        self._send: Sender | None = None
        documents.watch(self._hear)

    def hand_to(self, send: Sender) -> None:
        """`send` is given the document and the text as it was saved."""
        self._send = send
        early, self._early = self._early, []
        for document, text in early:
            send(document, text)

    def _hear(self, document: Document, event: DocumentEvent) -> None:
        if event != "saved" or document.doubt or not is_chat(document.path):
            return
        if self._send is not None:
            self._send(document, document.text)
        elif len(self._early) < _MOST:
            self._early.append((document, document.text))
