"""Why a command was not carried out, put as editors without a plugin show it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from pilothouse_server.client.clients import habits_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import SERVER_CANCELLED, RequestFault

__all__ = ["CommandErrors"]

T = TypeVar("T")


class CommandErrors:
    def __init__(self, rpc: Rpc, client: Client) -> None:
        self._rpc = rpc
        self._plain = not client.wants_events
        self._shows_codes = habits_of(client.name).shows_codes

    async def around(self, answer: Awaitable[T]) -> T:
        try:
            return await answer
        except RequestFault as error:
            raise self.put(error) from None

    def put(self, error: RequestFault) -> RequestFault:
        """The sentence, and nothing around it."""
        if not self._plain:
            return error
        if not self._shows_codes:
            return RequestFault(error.code, str(error))
        self._rpc.notify(names.SHOW_MESSAGE, {"type": 1, "message": str(error)})
        # Of this code the editor says nothing by itself.
        return RequestFault(SERVER_CANCELLED, str(error))
