"""The door for editors without a plugin, which clients with one hardly ever use: loaded when it is needed."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.protocol.typed import Methods
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.transport.rpc import Rpc, Waiting
from pilothouse_server.wire import method_names as names

if TYPE_CHECKING:
    from pilothouse_server.chat.plain_door import PlainDoor

__all__ = ["DoorOnDemand"]

Json: TypeAlias = dict[str, Any]

_MODULE = "pilothouse_server.chat.plain_door"


class DoorOnDemand:
    """Open from the start for a client that hears of no events, since it may speak through its documents."""

    def __init__(self, rpc: Rpc, client: Client, editor: EditorSide, sessions: Sessions) -> None:
        self._opening: Callable[[], PlainDoor] = lambda: _made(rpc, client, editor, sessions)
        self._methods = Methods()
        self._door: PlainDoor | None = None
        if not client.wants_events:
            self._open()

    def register(self, methods: Methods) -> None:
        for name in (names.EXECUTE_COMMAND, names.CODE_ACTION):
            methods.plain(name, lambda params, name=name: self._request(name, params))

    async def close(self) -> None:
        if self._door is not None:
            await self._door.close()

    def _open(self) -> None:
        self._door = self._opening()
        self._door.register(self._methods)

    def _request(self, name: str, params: Json) -> Any:
        if self._door is None:
            # What cancels it in time cancels it; a command is carried out all the same.
            return Waiting(self._late_request(name, params), lambda: None)
        return self._methods.request(name, params)

    async def _late_request(self, name: str, params: Json) -> Any:
        await asyncio.to_thread(importlib.import_module, _MODULE)
        if self._door is None:
            self._open()
        outcome = self._methods.request(name, params)
        answer = outcome.answer if isinstance(outcome, Waiting) else outcome
        return await answer if inspect.isawaitable(answer) else answer


def _made(rpc: Rpc, client: Client, editor: EditorSide, sessions: Sessions) -> PlainDoor:
    from pilothouse_server.chat.plain_door import PlainDoor

    return PlainDoor(rpc, client, editor, sessions)
