"""One workspace edit of files that are not open: sent once, and believed only when it is seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from pilothouse_agent.files.same_text import same_but_last_end
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_server.documents.disk_look import LOOK_LIMIT
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.closed_edit import is_on_disk, plain, puts_text
from pilothouse_server.edits.edit_request import Answer, Limits, Outcome, answer_of, unlike
from pilothouse_server.edits.edit_traces import stands
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.json_object import Json

__all__ = ["ClosedRequest"]


_LOOK_EVERY = 0.25
"""Seconds between looks at the disk, which nobody tells of."""
_UNSEEN = "the editor says that it was applied, but neither an open document nor the disk shows it"


class ClosedRequest:
    """Watches all documents from before the edit is sent, since the editor will open one for it."""

    def __init__(self, rpc: Rpc, documents: Documents, change: FileChange, limits: Limits) -> None:
        self._rpc = rpc
        self._documents = documents
        self._change = change
        self._before, self._after = plain(change.before), plain(change.after)
        self._limits = limits
        self._at_first = self._standing()
        self._seen = False
        """Some document had just the text expected."""
        self._stirred = asyncio.Event()

    async def send(self, edit: Json, label: str, signal: AbortSignal) -> Outcome:
        """Must be called in the step in which this was made and the documents were found unchanged.

        After an abort the outcome is still waited for, but no longer for what explains a refusal.
        """
        params = {"edit": edit, "label": label}
        asking = asyncio.ensure_future(self._rpc.request(names.APPLY_EDIT, params, limit=self._limits.answer))
        asking.add_done_callback(self._take)
        forget = self._documents.watch(self._look), signal.on_abort(self._stirred.set)
        try:
            while not (asking.done() or self._seen):
                self._stirred.clear()
                await self._stirred.wait()
            return await self._judge(answer_of(asking) if asking.done() else Answer("none"), signal)
        finally:
            for each in forget:
                each()

    async def _judge(self, answer: Answer, signal: AbortSignal) -> Outcome:
        if await self._made(answer, signal):
            return Outcome("applied")
        if answer.kind == "no":
            return Outcome("refused", reason=answer.reason, explained=self._explained())
        changed = [text for each in self._open() if (text := plain(each.text)) != self._before]
        if answer.kind == "yes" and changed and puts_text(self._change):
            return unlike(self._before, self._after, changed[0])
        return Outcome("unknown", reason=_UNSEEN if answer.kind == "yes" else answer.reason)

    def _made(self, answer: Answer, signal: AbortSignal) -> Awaitable[bool]:
        """Whether it comes to be seen within the time that the answer allows."""
        if answer.kind == "no":
            return self._comes(self._limits.retry, lambda: signal.aborted or self._explained())
        return self._comes(0 if answer.kind == "none" else self._limits.sight, lambda: False)

    async def _comes(self, limit: float, enough: Callable[[], bool]) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        while True:
            self._stirred.clear()
            if self._stands() or await self._on_disk():
                return True
            left = deadline - loop.time()
            if left <= 0 or enough():
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, _LOOK_EVERY)):
                    await self._stirred.wait()

    def _look(self, document: Document, event: DocumentEvent) -> None:
        """At every single change, since the next one may be the user's."""
        if event in ("opened", "changed") and puts_text(self._change) and document in self._open():
            self._seen = self._seen or same_but_last_end(plain(document.text), self._after)
        self._stirred.set()

    def _explained(self) -> bool:
        """Whether a document has been opened or changed since it was sent."""
        return self._standing() != self._at_first

    def _standing(self) -> list[tuple[Document, int]]:
        paths = [path for path in (self._change.source, self._change.path) if path is not None]
        return [(found, found.version) for path in paths for found in self._documents.of_path(path)]

    def _open(self) -> list[Document]:
        return self._documents.of_path(self._change.path)

    def _stands(self) -> bool:
        if self._seen or not puts_text(self._change):
            return self._seen
        return any(
            stands(self._before, self._after, plain(document.text))
            for document in self._open()
            if not document.doubt
        )

    async def _on_disk(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_LIMIT):
                return await asyncio.to_thread(is_on_disk, self._change)
        return False

    def _take(self, asking: asyncio.Future[Any]) -> None:
        if not asking.cancelled():
            asking.exception()
        self._stirred.set()
