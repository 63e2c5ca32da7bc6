"""An `Rpc` alone: the server around it is the test's, its outbox is on a real pipe."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from pilothouse_server.transport.front import Host
from pilothouse_server.transport.rpc import Rpc
from support.raw_client import request
from support.wire_pipe import Pipe, piped

__all__ = ["CANCELLED", "Json", "RpcBench", "error", "fails", "later", "rpc_bench"]

Json: TypeAlias = dict[str, Any]

CANCELLED = "The request was cancelled."


class RpcBench:
    """The server around the connection, and the host that all its other messages are for."""

    def __init__(self, pipe: Pipe) -> None:
        self.rpc: Rpc
        self.pipe = pipe
        self.loads = 0
        self._loaded: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._loaded.set_result(self)
        self.needed: set[str] | None = None
        """None: everything is."""
        self.heard: list[tuple[str, Json]] = []
        self.answers: dict[str, Callable[[], Any]] = {}
        self.exits: list[int] = []
        self.unread: list[bytes] = []
        self.settled = asyncio.Event()
        self.settled.set()

    def initialize(self, params: Json) -> Json:
        if params.get("fail"):
            raise ValueError("a bug")
        return {"hello": params}

    async def shut_down(self) -> None:
        self.heard.append(("shut down", {}))
        await self.settled.wait()

    def exit(self, code: int) -> None:
        self.exits.append(code)

    def garbled(self, body: bytes) -> None:
        self.unread.append(body)

    def needs(self, method: str, *, asked: bool) -> bool:
        return self.needed is None or method in self.needed

    def load(self) -> asyncio.Future[Host]:
        self.loads += 1
        return self._loaded

    def takes_time_to_load(self) -> None:
        self._loaded = asyncio.get_running_loop().create_future()

    async def finish_loading(self) -> None:
        self._loaded.set_result(self)
        await asyncio.sleep(0)

    def request(self, method: str, params: Json) -> Any:
        self.heard.append((method, params))
        return self.answers[method]() if method in self.answers else {"for": method}

    def notification(self, method: str, params: Json) -> None:
        self.heard.append((method, params))
        if method in self.answers:
            self.answers[method]()

    def send(self, *messages: Any) -> None:
        for message in messages:
            self.rpc.receive(json.dumps(message).encode())

    async def read(self, count: int = 1) -> list[Json]:
        """The next messages, without what is the same in all."""
        found = await self.pipe.take(count)
        assert [message.pop("jsonrpc") for message in found] == ["2.0"] * count
        return found

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.heard]


@asynccontextmanager
async def rpc_bench(*, initialized: bool = True) -> AsyncGenerator[RpcBench]:
    async with piped() as (outbox, pipe):
        made = RpcBench(pipe)
        made.rpc = Rpc(outbox, made)
        if initialized:
            made.send(request("i", "initialize"))
            await made.read()
        yield made


def error(msg_id: object, code: int, message: str, data: Any = None) -> Json:
    fields = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"id": msg_id, "error": fields}


def fails(problem: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise problem

    return fail


async def later(outcome: Callable[[], Any]) -> Any:
    await asyncio.sleep(0)
    return outcome()
