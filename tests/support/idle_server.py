"""A server over a connection that nobody uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from pilothouse_server.client import handshake
from pilothouse_server.server import PilothouseServer
from pilothouse_server.transport.front import Host
from pilothouse_server.transport.rpc import Rpc
from support.wire_pipe import piped

__all__ = ["idle_server"]

Json: TypeAlias = dict[str, Any]


@asynccontextmanager
async def idle_server(params: Json) -> AsyncGenerator[PilothouseServer]:
    """As it is made for a client that introduces itself with these params."""
    async with piped() as (outbox, _):
        made = PilothouseServer(Rpc(outbox, _Nobody()), handshake.introduce(params), {}, ({}, []))
        try:
            yield made
        finally:
            await made.close(1)


class _Nobody:
    def initialize(self, params: Json) -> Json:
        raise NotImplementedError

    async def shut_down(self) -> None:
        raise NotImplementedError

    def exit(self, code: int) -> None:
        raise NotImplementedError

    def garbled(self, body: bytes) -> None:
        raise NotImplementedError

    def needs(self, method: str, *, asked: bool) -> bool:
        raise NotImplementedError

    def load(self) -> asyncio.Future[Host]:
        raise NotImplementedError
