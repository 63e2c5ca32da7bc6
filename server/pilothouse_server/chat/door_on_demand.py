"""The door for editors without a plugin, which clients with one hardly ever use: loaded when it is needed."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.transport.rpc import Rpc

if TYPE_CHECKING:
    from pilothouse_server.chat.plain_door import PlainDoor

__all__ = ["DoorOnDemand"]

T = TypeVar("T")

_MODULE = "pilothouse_server.chat.plain_door"


class DoorOnDemand:
    """Open from the start for a client that hears of no events, since it may speak through its documents."""

    def __init__(self, rpc: Rpc, client: Client, editor: EditorSide, sessions: Sessions) -> None:
        self._make: Callable[[], PlainDoor] = lambda: _made(rpc, client, editor, sessions)
        self.opened: PlainDoor | None = None if client.wants_events else self._make()

    async def use(self, work: Callable[[PlainDoor], Awaitable[T]]) -> T:
        """Have the door do something; it is opened for it when it is not."""
        if self.opened is None:
            await asyncio.to_thread(importlib.import_module, _MODULE)
        if self.opened is None:
            self.opened = self._make()
        return await work(self.opened)

    async def close(self) -> None:
        if self.opened is not None:
            await self.opened.close()


def _made(rpc: Rpc, client: Client, editor: EditorSide, sessions: Sessions) -> PlainDoor:
    from pilothouse_server.chat.plain_door import PlainDoor

    return PlainDoor(rpc, client, editor, sessions)
