"""A hundred thousand messages leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.transport.front import Host
from pilothouse_server.transport.rpc import Rpc, Waiting
from support.features import loaded
from support.memory import resident_megabytes
from support.raw_client import RawClient, notification, request
from support.wire_pipe import Pipe, piped

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

Json: TypeAlias = dict[str, Any]

DOCUMENT = {"uri": "file:///a", "languageId": "x", "version": 1, "text": "text"}
SIZE = 100
EDIT = {"textDocument": {"uri": "file:///a", "version": 2}, "contentChanges": [{"text": "x"}]}


class Front:
    """A host whose requests end at once, later, or never."""

    def initialize(self, params: Json) -> Json:
        return {}

    async def shut_down(self) -> None: ...

    def exit(self, code: int) -> None: ...

    def garbled(self, body: bytes) -> None: ...

    def needs(self, method: str, *, asked: bool) -> bool:
        return True

    def load(self) -> asyncio.Future[Host]:
        return loaded(self)

    def request(self, method: str, params: Json) -> Any:
        match method:
            case "later":
                return asyncio.sleep(0, 1)
            case "never":
                return asyncio.get_running_loop().create_future()
            case "waiting":
                ended = asyncio.get_running_loop().create_future()
                return Waiting(ended, lambda: ended.set_result(1))
            case _:
                return 1

    def notification(self, method: str, params: Json) -> None: ...


async def test_the_connection_keeps_nothing_of_what_is_over() -> None:
    async with piped() as (outbox, pipe):
        rpc = Rpc(outbox, Front())
        ids = count()
        send(rpc, request(next(ids), "initialize"))
        await pipe.read()
        await talk(rpc, pipe, ids, 200)
        gc.collect()
        before = len(gc.get_objects())

        await talk(rpc, pipe, ids, 13_000)
        gc.collect()

        assert len(gc.get_objects()) - before < 200


def send(rpc: Rpc, *messages: Json) -> None:
    for message in messages:
        rpc.receive(json.dumps(message).encode())


async def talk(rpc: Rpc, pipe: Pipe, ids: Iterator[int], rounds: int) -> None:
    """Seven to nine messages a round, in both directions."""
    for _ in range(rounds // SIZE):
        asking = [asyncio.create_task(rpc.request("ask", {}, limit=5)) for _ in range(SIZE)]
        for turn in range(SIZE):
            method, msg_id = ("at once", "later", "never", "waiting")[turn % 4], next(ids)
            send(rpc, request(msg_id, method), notification("n"), notification("$/cancelRequest", id=msg_id))
        seen = await pipe.take(2 * SIZE)
        asked = [message["id"] for message in seen if "method" in message]
        for task in asking[::2]:
            task.cancel()
        await pipe.take(SIZE // 2)
        send(rpc, *({"jsonrpc": "2.0", "id": msg_id, "result": 1} for msg_id in asked))
        await asyncio.gather(*asking, return_exceptions=True)


def test_the_server_does_not_grow_with_its_messages(client: RawClient, tmp_path: Path) -> None:
    client.initialize(workspace={"configuration": True})
    question = client.until(method="workspace/configuration")
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": [{}]})
    client.send(notification("textDocument/didOpen", textDocument=DOCUMENT))
    ids = count()
    exchange(client, ids, 4000)
    before = resident_megabytes(client.process.pid)

    exchange(client, ids, 13_000)

    # A process forked off goes on touching pages for a while; one object kept a message would be 16.
    assert resident_megabytes(client.process.pid) - before < 8


def exchange(client: RawClient, ids: Iterator[int], rounds: int) -> None:
    """Six messages a round."""
    size = 50
    for _ in range(rounds // size):
        numbers = [next(ids) for _ in range(size)]
        for number in numbers:
            client.send(
                request(number, "agent/state"),
                notification("textDocument/didChange", **EDIT),
                notification("workspace/didChangeConfiguration", settings=None),
            )
        answer(client, size)
        client.ask(f"end {numbers[-1]}", "agent/state")
        client.seen.clear()


def answer(client: RawClient, size: int) -> None:
    """Take as many answers and questions, answering these."""
    for _ in range(2 * size):
        message = client.read()
        assert message is not None
        if "method" in message:
            client.send({"jsonrpc": "2.0", "id": message["id"], "result": [{}]})


def test_a_session_does_not_grow_with_its_deltas(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turns": [{"text": "0", "deltas": 20_000, "repeat": 6}]}), encoding="utf-8")
    client.initialize(options={})
    session = client.session(tmp_path, f"scripted/{path}")

    def prompt(number: int) -> float:
        client.send(request(number, "agent/prompt", sessionId=session, text="Go"))
        while True:
            message = client.read()
            assert message is not None
            client.seen.clear()
            if message.get("id") == number:
                return resident_megabytes(client.process.pid)

    sizes = [prompt(number) for number in range(6)]

    assert sizes[-1] - sizes[1] < 4
