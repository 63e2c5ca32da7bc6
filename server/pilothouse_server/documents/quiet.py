"""Moments in which nobody types."""

from __future__ import annotations

import asyncio

from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents

__all__ = ["STILL", "Quiet"]

STILL = 1.5
"""Seconds without a change of any document."""


class Quiet:
    """Takes every change for typing: an edit of ours only makes it wait a moment longer."""

    def __init__(self, documents: Documents, *, tells_late: bool = False, still: float = STILL) -> None:
        """`tells_late`: until a document has changed once, its silence says nothing."""
        self._documents = documents
        self._tells_late = tells_late
        self._still = still
        self._last: float | None = None
        self._changed: set[Document] = set()
        self._stirred = asyncio.Event()
        documents.watch(self._hear)

    async def come(self) -> None:
        """Returns at once when it is quiet, without giving anybody a turn to change that."""
        while True:
            left = self._left()
            if left > 0:
                await asyncio.sleep(left)
            elif self._tells_late and not self._changed.issuperset(self._documents.all()):
                self._stirred.clear()
                await self._stirred.wait()
            else:
                return

    @property
    def now(self) -> bool:
        return self._left() <= 0

    def _left(self) -> float:
        if self._last is None:
            return 0
        return self._last + self._still - asyncio.get_running_loop().time()

    def _hear(self, document: Document, event: DocumentEvent) -> None:
        if event == "changed":
            self._last = asyncio.get_running_loop().time()
            self._changed.add(document)
        elif event in ("opened", "closed"):
            self._changed.discard(document)
        self._stirred.set()
