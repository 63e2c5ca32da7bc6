"""Messages that nobody needs hold nothing up; the others keep their order, and after the end none counts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.raw_client import RawClient, notification, request, started
from support.rpc_bench import rpc_bench
from support.wire_models import call

Json: TypeAlias = dict[str, Any]

NOT_THERE = -32601
UNKNOWN_REQUESTS = (
    "foo/bar",
    "textDocument/hover",
    "textDocument/willSaveWaitUntil",
    "textDocument/didChange",
    "workspace/symbol",
    "window/workDoneProgress/cancel",
    "$/foo",
    "$/cancelRequest",
    "agent/nope",
    "agent/event",
    "session/nope",
    "initialized",
    "exit",
    "",
    "agent/",
    "constructor",
)
UNKNOWN_NOTIFICATIONS = (
    "textDocument/willSave",
    "notebookDocument/didOpen",
    "workspace/didCreateFiles",
    "workspace/didChangeWatchedFiles",
    "$/logTrace",
    "$/foo",
    "agent/prompt",
    "session/new",
    "initialize",
    "shutdown",
    "workspace/executeCommand",
    "",
)


@pytest.mark.slow
@pytest.mark.covers("R202")
@pytest.mark.parametrize("method", UNKNOWN_REQUESTS)
def test_an_unknown_request_is_answered_while_others_wait(client: RawClient, method: str) -> None:
    """The agent is not there as long as the client has not told its settings."""
    client.send(request(0, "initialize", capabilities={"workspace": {"configuration": True}}))
    client.send(notification("initialized"), request(1, "agent/state"), request(2, method))
    refused = client.answer(2)
    question = client.until(method="workspace/configuration")
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": [None]})

    assert refused["error"] == {"code": NOT_THERE, "message": f"There is no request {method!r}."}
    assert client.answer(1) == {"result": {"sessions": []}}


@pytest.mark.covers("R202")
async def test_messages_that_nobody_needs_pass_those_that_are_held_and_wake_nothing() -> None:
    async with rpc_bench() as b:
        b.needed = {"agent/state"}
        b.takes_time_to_load()
        b.send(
            request(1, "agent/state"), notification("willSave"), request(2, "foo/bar"), request(3, "$/foo")
        )
        refused = await b.read(2)
        loads = b.loads
        b.needed.add("willSave")
        await b.finish_loading()

        assert [(answer["id"], answer["error"]["code"]) for answer in refused] == [
            (2, NOT_THERE),
            (3, NOT_THERE),
        ]
        assert (loads, b.methods) == (1, ["agent/state"])


@pytest.mark.slow
@pytest.mark.covers("R202")
def test_a_stop_behind_messages_that_nobody_needs_loads_nothing_for_them(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    turns = [{"calls": [call("c1", "bash", command="sleep 60")]}]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    loaded = tmp_path / "loaded"
    with loaded.open("wb") as file:
        variables = {"PYTHONPROFILEIMPORTTIME": "1"}
        with started(tmp_path, stderr=file.fileno(), variables=variables) as client:
            client.initialize(options={})
            session = client.session(tmp_path, f"scripted/{script}")
            client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
            client.event("tool_execution_start")
            client.send(
                *(notification(method) for method in UNKNOWN_NOTIFICATIONS),
                *(request(f"r{number}", method) for number, method in enumerate(UNKNOWN_REQUESTS)),
                request("abort", "agent/abort", sessionId=session),
            )
            aborted = client.answer("abort")["result"]["aborted"]
            client.ask("end", "shutdown")
            client.notify("exit")
            client.ended(3)

    imported = loaded.read_text(encoding="utf-8", errors="replace")
    loads = [name for name in ("pygls", "lsprotocol", "plain_door") if name in imported]
    assert (aborted, loads) == (True, ["pygls", "lsprotocol"])


@pytest.mark.slow
@pytest.mark.covers("R202")
def test_messages_that_nobody_needs_do_not_load_the_server(tmp_path: Path) -> None:
    loaded = tmp_path / "loaded"
    with loaded.open("wb") as file:
        variables = {"PYTHONPROFILEIMPORTTIME": "1"}
        with started(tmp_path, stderr=file.fileno(), variables=variables) as client:
            client.send(request("hello", "initialize"))
            client.send(
                *(notification(method) for method in UNKNOWN_NOTIFICATIONS),
                *(request(f"r{number}", method) for number, method in enumerate(UNKNOWN_REQUESTS)),
            )
            codes = {client.answer(f"r{number}")["error"]["code"] for number in range(len(UNKNOWN_REQUESTS))}
            client.ask("end", "shutdown")
            client.notify("exit")
            client.ended(3)

    imported = loaded.read_text(encoding="utf-8", errors="replace")
    assert codes == {NOT_THERE}
    assert [
        name for name in ("pygls", "pydantic", "pilothouse_server.sessions.sessions") if name in imported
    ] == []


@pytest.mark.slow
@pytest.mark.covers("R256")
@pytest.mark.parametrize("method", [None, {}])
def test_an_answer_without_a_result_is_a_no(client: RawClient, tmp_path: Path, method: Json | None) -> None:
    script = tmp_path / "script.json"
    turns: list[Json] = [{"calls": [call("c1", "bash", command="touch made")]}, {"text": "Done."}]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={"approvals": True})
    session = client.session(tmp_path, f"scripted/{script}", mode="ask")
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    question = client.until(method="agent/requestApproval")
    bare: Json = {"jsonrpc": "2.0", "id": question["id"]}
    client.send(bare if method is None else {"id": question["id"], "method": None})
    resolved = client.event("approval_resolved")

    assert (resolved["decision"], client.answer("prompt")["result"]["text"]) == ("denied", "Done.")
    assert not (tmp_path / "made").exists()


@pytest.mark.covers("R256")
@pytest.mark.parametrize(
    "bare",
    [{"jsonrpc": "2.0", "id": "s1"}, {"id": "s1"}, {"id": "s1", "error": None}, {"id": "s1", "params": {}}],
)
async def test_an_answer_of_nothing_but_an_id_is_null_and_a_second_one_harms_nobody(bare: Json) -> None:
    async with rpc_bench() as b:
        answered = asyncio.ensure_future(b.rpc.request("ask", {}, limit=5))
        assert (await b.read())[0]["id"] == "s1"
        b.send(bare, bare, request(1, "ping"))

        assert await answered is None
        assert await b.read() == [{"id": 1, "result": {"for": "ping"}}]


@pytest.mark.covers("R256")
@pytest.mark.parametrize("msg_id", [7, "s2", "s0", "s", "s1x", "x1", "s-1", "s٣"])
async def test_an_id_that_was_never_asked_about_is_no_answer(msg_id: object) -> None:
    async with rpc_bench() as b:
        answered = asyncio.ensure_future(b.rpc.request("ask", {}, limit=5))
        await b.read()
        b.send({"jsonrpc": "2.0", "id": msg_id})
        refused = await b.read()
        b.send({"jsonrpc": "2.0", "id": "s1"})
        await answered

    assert [(answer["id"], answer["error"]["code"]) for answer in refused] == [(msg_id, -32600)]


@pytest.mark.slow
def test_what_comes_while_the_server_is_loaded_is_heard_in_the_order_it_came(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": "# pilothouse: tidy up\n"}
    here = {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 3}}
    asked: Json = {"textDocument": {"uri": uri}, "range": here, "context": {"diagnostics": []}}
    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "x = 1\n"}]}
    with started(tmp_path) as client:
        client.initialize()
        client.send(
            notification("textDocument/didOpen", textDocument=document),
            request(1, "textDocument/codeAction", **asked),
            notification("textDocument/didChange", **changed),
            request(2, "textDocument/codeAction", **asked),
        )
        before, after = client.answer(1)["result"], client.answer(2)["result"]

    offered = [any("tidy up" in json.dumps(action) for action in actions) for actions in (before, after)]
    assert offered == [True, False]


@pytest.mark.slow
def test_what_comes_behind_an_exit_is_not_heard(client: RawClient, tmp_path: Path) -> None:
    client.initialize(options={})
    client.send(
        request(1, "agent/state"),
        notification("exit"),
        request(2, "agent/state"),
        request(3, "nope"),
        {"jsonrpc": "2.0", "id": 4},
        request(5, "session/new", cwd=str(tmp_path)),
    )
    client.write(b"not a frame")

    assert [message.get("id") for message in client.rest()] == [1]
    assert client.ended(1.5) == 1
