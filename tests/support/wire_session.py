"""A session with a real server process, its events recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pilothouse_cli.headless import JsonRpcClient
from pilothouse_server.wire import method_names
from support.raw_client import SERVER
from support.wire_lines import folded, line
from support.wire_run import settled_home

__all__ = ["WireSession", "soon", "wire_session"]

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

_LIMIT = 20.0
"""Seconds; the server's start on a busy machine is part of the first wait."""


async def soon(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, _LIMIT)


class WireSession:
    """`approvals` gets the open requests for approval; the test answers them by setting a result."""

    def __init__(self, client: JsonRpcClient) -> None:
        self.client = client
        self.id = ""
        self.events: list[Json] = []
        self.approvals: asyncio.Queue[tuple[Json, asyncio.Future[Json]]] = asyncio.Queue()
        self._came = asyncio.Event()
        client.on_notification(method_names.EVENT, self._record)
        client.on_request(method_names.REQUEST_APPROVAL, self._ask)

    def prompt(self, text: str) -> asyncio.Future[Json]:
        return self.client.request("agent/prompt", {"sessionId": self.id, "text": text})

    def request(self, method: str, **params: Any) -> asyncio.Future[Json]:
        return self.client.request(method, {"sessionId": self.id, **params})

    async def seen(self, wanted: str) -> None:
        """An event with this line has come."""
        async with asyncio.timeout(_LIMIT):
            while not any(line(event) == wanted for event in self.events):
                self._came.clear()
                await self._came.wait()

    @property
    def lines(self) -> list[str]:
        return folded(self.events)

    def _record(self, event: Json) -> None:
        self.events.append(event)
        self._came.set()

    async def _ask(self, params: Json) -> Json:
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.approvals.put_nowait((params, answer))
        return await answer


@asynccontextmanager
async def wire_session(
    folder: Path,
    model: str,
    *,
    mode: str,
    variables: Mapping[str, str],
    settings: Json | None = None,
    command: Sequence[str] = SERVER,
    root: str | None = None,
) -> AsyncGenerator[WireSession]:
    """Works in `folder`; `settings` are what an editor hands over, the others are the defaults.

    `root`: the URI of the editor's workspace, if it has one.
    """
    async with JsonRpcClient() as client:
        session = WireSession(client)
        await client.start(command, env={**settled_home(folder.parent), **variables})
        about_us = {"pilothouse": {"approvals": True, "settings": settings or {}}}
        introduction: Json = {"processId": None, "capabilities": {}, "initializationOptions": about_us}
        await soon(client.handshake({**introduction, "rootUri": root}))
        params = {"cwd": str(folder), "model": model, "mode": mode}
        session.id = (await soon(client.request(method_names.SESSION_NEW, params)))["sessionId"]
        yield session
