"""Receives the client: `initialize` is answered at once, and the server is loaded when it is needed."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
from typing import TYPE_CHECKING, Any

from pilothouse_server import __version__
from pilothouse_server.client import handshake
from pilothouse_server.transport.front import Host
from pilothouse_server.transport.life import Life
from pilothouse_server.transport.logs import log_to_file
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import INTERNAL_ERROR, RequestFault
from pilothouse_server.wire.json_object import Json

if TYPE_CHECKING:
    from pilothouse_server.server import PilothouseServer

__all__ = ["Reception"]

logger = logging.getLogger(__name__)


_SETTLE = 1.0
"""Seconds the runs are given to settle when the server ends."""
_NOT_LOADED = "The server could not be loaded. The log has the details."


class Reception:
    """What is around one connection. Messages for the server are held in order while it is loaded."""

    def __init__(self, life: Life) -> None:
        self.rpc = Rpc(life.outbox, self)
        self._life = life
        self._client: handshake.Client | None = None
        self._watching: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[Host] | None = None
        self._server: PilothouseServer | None = None
        self._closing: asyncio.Task[None] | None = None

    def initialize(self, params: Json) -> Json:
        client = self._client = handshake.introduce(params)
        if client.process_id is not None:
            self._watching = self._life.watch_parent(client.process_id)
        return handshake.answer(client, __version__)

    def needs(self, method: str, *, asked: bool) -> bool:
        if method == names.SEMANTIC_TOKENS:
            return asked and self._client is not None and self._client.tells_when_refreshed
        return method in (names.REQUESTS if asked else names.NOTIFICATIONS)

    def load(self) -> asyncio.Future[Host]:
        assert self._client is not None
        self._loading = asyncio.create_task(self._load(self._client))
        return self._loading

    async def shut_down(self) -> None:
        """Abort, settle and save every run; what they hold is given back."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    def exit(self, code: int) -> None:
        self._life.end(code, "exit", after_exit=True)

    def garbled(self, body: bytes) -> None:
        if self._server is not None:
            self._server.editor.documents.garbled(body)

    async def _load(self, client: handshake.Client) -> Host:
        try:
            self._server = await self._loaded(client)
        except Exception:
            logger.exception("The server could not be loaded")
            raise RequestFault(INTERNAL_ERROR, _NOT_LOADED) from None
        return self._server.protocol

    async def _loaded(self, client: handshake.Client) -> PilothouseServer:
        """Everything is imported in a thread; the agent and pygls are imported with the server."""
        await _imported("pilothouse_server.lsp_types")
        module = await _imported("pilothouse_server.server")
        if not client.wants_events:
            await _imported("pilothouse_server.chat.plain_door")
        places = await _imported("pilothouse_agent.settings.places")
        await asyncio.to_thread(log_to_file, places.log_file(os.environ))
        settings = await asyncio.to_thread(places.read_user_settings, os.environ)
        return module.PilothouseServer(self.rpc, client, os.environ, settings)

    async def _close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        if self._server is not None:
            await self._server.close(_SETTLE)


async def _imported(name: str) -> Any:
    """Import in a thread, without collecting garbage: everything it makes stays."""
    gc.disable()
    try:
        return await asyncio.to_thread(importlib.import_module, name)
    finally:
        gc.freeze()
        gc.enable()
