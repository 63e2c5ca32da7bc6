"""Long texts on the wire: deltas put together, arguments cut, questions bounded and whole on demand."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.protocol.shortened import TEXT_ROOM, shortened_arguments, shortened_text
from support.model_server import Answer, ModelServer, calls_chunk, chat_body, finish_chunk, text_chunk
from support.raw_client import RawClient, request
from support.wire_models import Turn, call
from support.wire_session import soon, wire_session

Json: TypeAlias = dict[str, Any]

DONE: Turn = {"text": "Done."}
SOURCE = 'def f(x: int) -> str:\n    return f"{x}"\n'


def script(folder: Path, *turns: Turn) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted/{path}"


def said(deltas: list[Json], kind: str) -> str:
    return "".join(delta["text"] for delta in deltas if delta["kind"] == kind)


def updates(messages: list[Json]) -> list[Json]:
    events = [message["params"] for message in messages if message.get("method") == "agent/event"]
    return [event for event in events if event["type"] == "message_update"]


@pytest.mark.slow
@pytest.mark.covers("R302")
@pytest.mark.parametrize(
    ("declared", "apart"), [({}, False), ({"deltas": "each"}, True), ({"deltas": "x"}, False)]
)
def test_deltas_that_come_together_go_out_together_but_to_clients_that_want_each(
    client: RawClient, tmp_path: Path, declared: Json, apart: bool
) -> None:
    words = [f"word{number} " for number in range(40)]
    client.initialize(options=declared)
    session = client.session(tmp_path, script(tmp_path, {"thinking": words[:20], "text": words}))
    client.ask(1, "agent/prompt", sessionId=session, text="Go")
    deltas = [update["delta"] for update in updates(client.seen)]
    seqs = [m["params"]["seq"] for m in client.seen if m.get("method") == "agent/event"]

    assert [said(deltas, kind) for kind in ("thinking", "text")] == ["".join(words[:20]), "".join(words)]
    assert len(deltas) == 60 if apart else len(deltas) <= 4
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.slow
@pytest.mark.covers("R302")
def test_deltas_that_come_apart_go_out_as_they_come(client: RawClient, tmp_path: Path) -> None:
    client.initialize(options={})
    session = client.session(tmp_path, script(tmp_path, {"text": ["a", "b", "c"], "delayMs": 30}))
    client.ask(1, "agent/prompt", sessionId=session, text="Go")

    assert [update["delta"]["text"] for update in updates(client.seen)] == ["a", "b", "c"]


@pytest.mark.slow
@pytest.mark.covers("R302")
async def test_the_deltas_of_one_piece_of_the_network_are_one_event_and_the_next_piece_another(
    tmp_path: Path,
) -> None:
    second = asyncio.Event()
    chunks = [text_chunk(f"{number} ") for number in range(16)]
    pieces = (chat_body(*chunks, done=False), second, chat_body(text_chunk("end"), finish_chunk()))
    async with ModelServer(Answer(pieces)) as server:
        variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}
        async with wire_session(tmp_path, "openai-chat/x", mode="none", variables=variables) as wire:
            prompt = wire.prompt("Go")
            await wire.seen("MU")
            before = texts(wire.events)
            second.set()
            await soon(prompt)

    assert (before, texts(wire.events)) == (["".join(f"{n} " for n in range(16))], [*before, "end"])


def texts(events: list[Json]) -> list[str]:
    return [event["delta"]["text"] for event in events if event["type"] == "message_update"]


@pytest.mark.slow
@pytest.mark.covers("R302", "R257")
async def test_a_large_file_as_arguments_is_on_the_wire_about_twice(tmp_path: Path) -> None:
    """Its deltas once, and once in the message's end; nowhere else in full."""
    arguments = json.dumps({"path": "a.py", "content": SOURCE * 6000})
    parts = [arguments[at : at + 20] for at in range(0, len(arguments), 20)]
    first = calls_chunk({"index": 0, "id": "c1", "function": {"name": "write_file", "arguments": ""}})
    deltas = [calls_chunk({"index": 0, "function": {"arguments": part}}) for part in parts]
    body = chat_body(first, *deltas, finish_chunk("tool_calls"))
    async with ModelServer(
        Answer.of(body), Answer.of(chat_body(text_chunk("Done."), finish_chunk()))
    ) as server:
        variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}
        async with wire_session(tmp_path, "openai-chat/x", mode="ask", variables=variables) as wire:
            prompt = wire.prompt("Go")
            question, answer = await soon(wire.approvals.get())
            whole = await soon(wire.client.request("agent/preview", {"approvalId": question["approvalId"]}))
            answer.set_result({"optionId": "allow"})
            result = await soon(prompt)

    sizes = dict.fromkeys(("message_update", "message_end"), 0)
    others = 0
    for event in wire.events:
        size = len(json.dumps(event))
        if event["type"] in sizes:
            sizes[event["type"]] += size
        else:
            others += size
    start = next(event for event in wire.events if event["type"] == "tool_execution_start")
    end = next(
        event["message"]
        for event in wire.events
        if event["type"] == "message_end" and "model" in event["message"]
    )
    assert result["text"] == "Done."
    assert sizes["message_update"] < 2 * len(arguments)
    assert others + len(json.dumps(question)) < 150_000
    assert (start["arguments"]["path"], start["argumentsCut"]) == ("a.py", True)
    assert (SOURCE * 6000).startswith(start["arguments"]["content"].removesuffix("…"))
    assert end["content"][0]["arguments"] == {"path": "a.py", "content": SOURCE * 6000}
    assert (question["cut"], question["toolCall"]["argumentsCut"]) == (True, True)
    assert [diff["newText"] for diff in whole["diffs"]] == [SOURCE * 6000]
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == SOURCE * 6000


@pytest.mark.slow
@pytest.mark.covers("R257")
def test_a_question_about_a_long_command_shows_its_first_lines_and_the_whole_on_demand(
    client: RawClient, tmp_path: Path
) -> None:
    command = "\n".join(f"echo line {number} of a very long command >> out.txt" for number in range(1000))
    client.initialize(options={"approvals": True})
    session = client.session(
        tmp_path, script(tmp_path, {"calls": [call("c1", "bash", command=command)]}, DONE), mode="ask"
    )
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    question = client.until(method="agent/requestApproval")
    params = question["params"]
    approval = params["approvalId"]
    whole = client.ask(1, "agent/preview", approvalId=approval)
    other = client.ask(2, "agent/preview", approvalId=approval, uri="file:///nowhere")["error"]
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"optionId": "reject"}})
    client.answer("prompt")
    late = client.ask(3, "agent/preview", approvalId=approval)["error"]
    events = [m["params"] for m in client.seen if m.get("method") == "agent/event"]
    longest = max(
        len(json.dumps(event)) for event in events if event["type"] != "message_end" and "delta" not in event
    )

    assert (params["cut"], command.startswith(params["command"].removesuffix("…"))) == (True, True)
    assert params["command"].endswith("\n…")
    assert whole == {"result": {"command": command}}
    assert (len(json.dumps(params)) < 50_000, longest < 20_000) == (True, True)
    assert other["data"]["violations"][0]["path"] == "uri"
    assert late["data"] == {"kind": "alreadyResolved"}


@pytest.mark.slow
@pytest.mark.covers("R257")
def test_what_is_short_is_asked_about_whole(client: RawClient, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    client.initialize(options={"approvals": True})
    edit = call("c1", "edit_file", path="a.txt", edits=[{"old_text": "one", "new_text": "two"}])
    session = client.session(tmp_path, script(tmp_path, {"calls": [edit]}, DONE), mode="ask")
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    params = client.until(method="agent/requestApproval")["params"]
    whole = client.ask(1, "agent/preview", approvalId=params["approvalId"], uri=params["diffs"][0]["uri"])

    assert ("cut" in params, params["toolCall"]) == (
        False,
        {"id": "c1", "name": "edit_file", "kind": "edit", "arguments": edit["arguments"]},
    )
    assert params["diffs"] == [
        {
            "uri": (tmp_path / "a.txt").as_uri(),
            "oldText": "one\n",
            "newText": "two\n",
            "hunks": [{"oldStart": 1, "newStart": 1, "lines": ["-one\n", "+two\n"]}],
        }
    ]
    assert whole["result"]["diffs"] == params["diffs"]


@pytest.mark.covers("R302")
@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "x" * 100_000},
        {"path": "a", "edits": [{"old_text": "x" * 50, "new_text": "y" * 50}] * 3000},
        {"x" * 50_000: 1},
        {str(number): number for number in range(20_000)},
        {"a": [[["\x00" * 9000] * 9] * 9] * 9},
        {"a": list(range(100_000))},
        {"a": "\ud800" * 20_000},
    ],
)
def test_long_arguments_are_cut_to_their_room_whatever_makes_them_long(arguments: Json) -> None:
    shown, cut = shortened_arguments(arguments)

    assert cut
    assert 0 < len(json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogatepass")) <= 1.5 * TEXT_ROOM
    assert set(shown) <= {name if len(name) < 9000 else shown_name(shown) for name in arguments}


def shown_name(shown: Json) -> str:
    return next(iter(shown))


@pytest.mark.covers("R302")
@pytest.mark.parametrize("arguments", [{}, {"a": "x" * 16_000}, {"a": [1, {"b": None}]}])
def test_arguments_that_have_room_stay_as_they_are(arguments: Json) -> None:
    assert shortened_arguments(arguments) == (arguments, False)


@pytest.mark.covers("R257")
def test_a_text_is_cut_at_the_end_of_a_line_where_there_is_one() -> None:
    assert shortened_text("short") == ("short", False)
    assert shortened_text("a\n" * TEXT_ROOM) == ("a\n" * (TEXT_ROOM // 2) + "…", True)
    assert shortened_text("x" * TEXT_ROOM + "y") == ("x" * TEXT_ROOM + "…", True)
