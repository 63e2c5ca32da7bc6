"""pygls over our own connection: what its features give, ask and leave behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from pilothouse_server.transport.front import Host
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire.codec import encode
from support.features import FeatureServer, features, loaded
from support.raw_client import notification, request
from support.wire_pipe import Pipe, piped

Json: TypeAlias = dict[str, Any]

HOVER: Json = {"textDocument": {"uri": "file:///a"}, "position": {"line": 1, "character": 2}}
EDIT = types.ApplyWorkspaceEditParams(edit=types.WorkspaceEdit())


class Front:
    def __init__(self) -> None:
        self.server: FeatureServer

    def initialize(self, params: Json) -> Json:
        return {}

    async def shut_down(self) -> None: ...

    def exit(self, code: int) -> None: ...

    def garbled(self, body: bytes) -> None: ...

    def needs(self, method: str, *, asked: bool) -> bool:
        return True

    def load(self) -> asyncio.Future[Host]:
        return loaded(self.server.protocol)


class Bench:
    def __init__(self, rpc: Rpc, pipe: Pipe, server: FeatureServer) -> None:
        self.rpc, self.pipe, self.server = rpc, pipe, server
        self.feature = server.feature

    def send(self, *messages: Json) -> None:
        for message in messages:
            self.rpc.receive(encode(message))

    async def read(self) -> Json:
        message = await self.pipe.read()
        del message["jsonrpc"]
        return message


@asynccontextmanager
async def bench() -> AsyncGenerator[Bench]:
    front = Front()
    async with piped() as (outbox, pipe):
        rpc = Rpc(outbox, front)
        front.server = features(rpc)
        made = Bench(rpc, pipe, front.server)
        made.send(request("initialize", "initialize"))
        await made.read()
        yield made


async def test_a_feature_gets_typed_params_and_gives_lsp_objects() -> None:
    async with bench() as b:

        @b.feature(types.TEXT_DOCUMENT_HOVER)
        async def hover(params: types.HoverParams) -> types.Hover:
            await asyncio.sleep(0)
            return types.Hover(f"at {params.position.line}")

        b.send(request(1, "textDocument/hover", **HOVER))

        assert await b.read() == {"id": 1, "result": {"contents": "at 1"}}


async def test_a_feature_that_raises_is_an_error_without_its_traceback() -> None:
    async with bench() as b:

        @b.feature(types.TEXT_DOCUMENT_HOVER)
        def hover(params: types.HoverParams) -> None:
            raise JsonRpcException("no", -32050)

        @b.feature(types.TEXT_DOCUMENT_DEFINITION)
        def definition(params: types.DefinitionParams) -> None:
            raise ValueError("a bug")

        b.send(request(1, "textDocument/hover", **HOVER))
        first = await b.read()
        b.send(request(2, "textDocument/definition", **HOVER))
        second = await b.read()

    assert first == {"id": 1, "error": {"code": -32050, "message": "no"}}
    assert (second["error"]["code"], "a bug" in str(second)) == (-32603, False)


async def test_cancelling_a_request_cancels_its_feature() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()
    async with bench() as b:

        @b.feature(types.TEXT_DOCUMENT_HOVER)
        async def hover(params: types.HoverParams) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        b.send(request(1, "textDocument/hover", **HOVER))
        await asyncio.wait_for(begun.wait(), 5)
        b.send(notification("$/cancelRequest", id=1))

        assert (await b.read())["error"]["code"] == -32800
        await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.parametrize("params", [{}, {"textDocument": 1, "position": {}}, {"textDocument": {"uri": []}}])
async def test_params_that_do_not_fit_are_refused(params: Json) -> None:
    async with bench() as b:

        @b.feature(types.TEXT_DOCUMENT_HOVER)
        def hover(params: types.HoverParams) -> None:
            raise AssertionError

        b.send(request(1, "textDocument/hover", **params))

        assert (await b.read())["error"] == {
            "code": -32602,
            "message": "The params of textDocument/hover do not fit the protocol.",
        }


async def test_a_feature_asks_the_client_and_gets_an_lsp_object() -> None:
    async with bench() as b:
        asking = asyncio.ensure_future(b.server.workspace_apply_edit_async(EDIT))
        asked = await b.read()
        b.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": False, "failureReason": "no"}})

        assert (asked["method"], asked["params"]) == ("workspace/applyEdit", {"edit": {}})
        assert await asking == types.ApplyWorkspaceEditResult(False, failure_reason="no")


@pytest.mark.parametrize(
    "answer",
    [{"result": None}, {"result": {"nope": 1}}, {"error": {}}, {"error": {"code": 1, "message": "no"}}],
)
async def test_whatever_the_client_answers_the_feature_does_not_wait_for_ever(answer: Json) -> None:
    async with bench() as b:
        asking = asyncio.ensure_future(b.server.workspace_apply_edit_async(EDIT))
        asked = await b.read()
        b.send({"jsonrpc": "2.0", "id": asked["id"], **answer})
        [outcome] = await asyncio.wait_for(asyncio.gather(asking, return_exceptions=True), 5)

    assert isinstance(outcome, Exception)


async def test_a_question_that_is_given_up_is_withdrawn() -> None:
    async with bench() as b:
        asking = asyncio.ensure_future(b.server.workspace_apply_edit_async(EDIT))
        asked = await b.read()
        asking.cancel()

        assert await b.read() == {"method": "$/cancelRequest", "params": {"id": asked["id"]}}


async def test_notifications_of_features_go_out_and_their_failures_stay_in(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with bench() as b:

        @b.feature(types.TEXT_DOCUMENT_DID_SAVE)
        async def saved(params: types.DidSaveTextDocumentParams) -> None:
            b.server.window_log_message(types.LogMessageParams(types.MessageType.Info, "saved"))
            raise ValueError("a bug")

        b.send(notification("textDocument/didSave", textDocument={"uri": "file:///a"}))
        b.send(notification("textDocument/didSave"))

        assert await b.read() == {"method": "window/logMessage", "params": {"type": 3, "message": "saved"}}
    assert [record.getMessage() for record in caplog.records] == [
        "Dropped the notification textDocument/didSave: "
        "The params of textDocument/didSave do not fit the protocol.",
        "The notification textDocument/didSave failed",
    ]


@pytest.mark.slow
async def test_nothing_is_kept_of_thousands_of_messages() -> None:
    async with bench() as b:

        @b.feature(types.TEXT_DOCUMENT_HOVER)
        async def hover(params: types.HoverParams) -> None:
            await asyncio.sleep(0)

        @b.feature(types.TEXT_DOCUMENT_DID_SAVE)
        async def saved(params: types.DidSaveTextDocumentParams) -> None:
            await asyncio.sleep(0)

        async def talk(count: int) -> int:
            for number in range(count):
                b.send(notification("textDocument/didSave", textDocument={"uri": "file:///a"}))
                b.send(request(number, "textDocument/hover", **HOVER))
                await b.read()
                asking = asyncio.ensure_future(b.server.workspace_apply_edit_async(EDIT))
                asked = await b.read()
                b.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
                await asking
            gc.collect()
            return len(gc.get_objects())

        warm = await talk(100)

        assert await talk(700) - warm < 200
