"""The connection alone: requests to the client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilothouse_server.transport.rpc import ClientGone, RequestFault
from support.raw_client import request
from support.rpc_bench import rpc_bench


async def test_the_client_is_asked_and_its_result_given() -> None:
    async with rpc_bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {"x": 1}, limit=5))
        [asked] = await b.read()
        b.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"y": 2}})

        assert {**asked, "id": 0} == {"id": 0, "method": "ask", "params": {"x": 1}}
        assert await asking == {"y": 2}


@pytest.mark.covers("R259")
async def test_a_request_is_on_its_way_before_anything_else_is_heard() -> None:
    async with rpc_bench() as b:
        asking = b.rpc.request("ask", {}, limit=5)
        b.rpc.notify("tell", {})
        asked, told = await b.read(2)
        b.send({"jsonrpc": "2.0", "id": asked["id"], "result": 1})

        assert (asked["method"], told["method"], await asking) == ("ask", "tell", 1)


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        ({"code": -32601, "message": "unknown"}, -32601, "unknown"),
        ({"message": "no code"}, -32603, "no code"),
        ({"code": "x"}, -32603, "The client failed."),
        ("just text", -32603, "The client failed."),
        ([], -32603, "The client failed."),
    ],
)
async def test_an_error_of_the_client_is_raised_however_it_is_made(answer: Any, code: int, text: str) -> None:
    async with rpc_bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {}, limit=5))
        [asked] = await b.read()
        b.send({"jsonrpc": "2.0", "id": asked["id"], "error": answer})
        with pytest.raises(RequestFault) as raised:
            await asking

    assert (raised.value.code, str(raised.value)) == (code, text)


@pytest.mark.parametrize("how", ["cancelled", "late"])
async def test_a_request_that_is_given_up_is_withdrawn_and_its_late_answer_ignored(how: str) -> None:
    async with rpc_bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {}, limit=0.01 if how == "late" else 5))
        [asked] = await b.read()
        if how == "cancelled":
            asking.cancel()
        withdrawn = await b.read()
        late = {"jsonrpc": "2.0", "id": asked["id"], "result": "late"}
        b.send(late, late, {**late, "id": 7}, {**late, "id": []}, request(1, "a"))
        [outcome] = await asyncio.gather(asking, return_exceptions=True)

        assert type(outcome) is (TimeoutError if how == "late" else asyncio.CancelledError)
        assert withdrawn == [{"method": "$/cancelRequest", "params": {"id": asked["id"]}}]
        assert await b.read() == [{"id": 1, "result": {"for": "a"}}]


async def test_a_question_that_json_cannot_hold_is_the_askers_failure() -> None:
    async with rpc_bench() as b:
        with pytest.raises(TypeError):
            await b.rpc.request("ask", {"x": object()}, limit=5)


async def test_with_the_connection_every_question_ends() -> None:
    async with rpc_bench() as b:
        asking = asyncio.create_task(b.rpc.request("ask", {}, limit=None))
        await b.read()
        await b.rpc.close()

        for question in (asking, b.rpc.request("ask", {}, limit=None)):
            with pytest.raises(ClientGone):
                await question
