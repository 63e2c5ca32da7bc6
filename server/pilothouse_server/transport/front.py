"""What the connection asks of those around it, before the server is loaded and after."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from pilothouse_server.wire.json_object import Json

__all__ = ["Front", "Host"]


class Host(Protocol):
    """Answers everything that is not about the connection: the features of the server, once it is loaded."""

    def request(self, method: str, params: Json) -> Any:
        """Admit a request where its frame is read: the answer, an awaitable of it, or `Waiting`.

        Raises `RequestFault`.
        """
        ...

    def notification(self, method: str, params: Json) -> None: ...


class Front(Protocol):
    """The server around a connection."""

    def initialize(self, params: Json) -> Json: ...

    async def shut_down(self) -> None: ...

    def exit(self, code: int) -> None: ...

    def garbled(self, body: bytes) -> None:
        """Told in its turn of a message that nobody can read; its sender has been answered."""
        ...

    def needs(self, method: str, *, asked: bool) -> bool:
        """Whether anybody takes such a request, or when it is not `asked`, such a notification. Others are
        answered or dropped at once, whatever is being loaded or held."""
        ...

    def load(self) -> asyncio.Future[Host]:
        """Begin to load the host; called once, for the first message that needs it. What cannot be loaded
        raises the fault that every request is answered with."""
        ...
