"""How one client is asked to change what it has open, and what it does wrongly taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_server.client.clients import ClientProfile
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.edit_request import EditRequest, Limits, Outcome
from pilothouse_server.edits.landings import Landing, put_back
from pilothouse_server.edits.overtaken import ask_to_reload
from pilothouse_server.edits.quiet_time import until_quiet
from pilothouse_server.edits.text_edits import TextEdit, text_edits
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["EditorEdits"]

_TRIES = 10


class EditorEdits:
    def __init__(
        self,
        rpc: Rpc,
        documents: Documents,
        profile: ClientProfile,
        limits: Limits,
        *,
        labelled: bool,
        can_reload: bool,
    ) -> None:
        self._rpc = rpc
        self._documents = documents
        self._profile = profile
        self._limits = limits
        self._can_reload = can_reload
        self._labels = labelled and profile.labelled

    async def reloaded(self, document: Document) -> None:
        """Wait a moment for the document to become what is on disk."""
        version = document.version
        if self._can_reload:
            await ask_to_reload(self._rpc, [document])
        await document.changed(version, self._limits.retry)

    async def quiet(self, document: Document) -> bool:
        """Wait for a moment in which an edit of it may be sent; whether it came."""
        versions = self._profile.versions
        if versions == "late" and self._documents.tells_first:
            return True
        return await until_quiet(document, self._rpc, versions, self._limits)

    async def all_told(self) -> None:
        """Let the client tell what it holds back, where that can be had."""
        if self._profile.tells_when_refreshed:
            with suppress(RequestFault, TimeoutError, ClientGone):
                await self._rpc.request(names.SEMANTIC_TOKENS_REFRESH, None, limit=self._limits.retry)

    async def send(
        self, document: Document, expected: str, edits: Sequence[TextEdit], signal: AbortSignal
    ) -> Outcome:
        """In the step in which it is awaited; `expected` is the text that the edits make."""
        asked = EditRequest(
            self._rpc, document, expected=expected, limits=self._limits, profile=self._profile
        )
        name = PurePath(document.path or document.uri).name
        outcome = await asked.send(edits, f"Pilothouse: {name}" if self._labels else None, signal)
        if asked.told_first:
            self._documents.tells_first = True
        return outcome

    async def take_back(
        self, document: Document, landing: Landing, signal: AbortSignal, tries: int = _TRIES
    ) -> bool:
        """Put back what an edit has replaced where it landed; whether that was done."""
        for left in range(tries, 0, -1):
            version, text = document.version, document.text
            wanted = await asyncio.to_thread(put_back, landing, text)
            if wanted is None or document.closed or document.doubt:
                return False
            edits = await asyncio.to_thread(text_edits, text, wanted, document.encoding)
            if (document.version, document.text) != (version, text):
                continue
            outcome = await self.send(document, wanted, edits, signal)
            again = outcome.landing
            if again is not None and not await self.take_back(document, again, signal, left - 1):
                return False
            if again is None and not outcome.explained:
                return outcome.kind == "applied"
        return False
