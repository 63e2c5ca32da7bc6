"""Many messages at once while everybody is slow: each is answered, nothing is lost, nothing said twice."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.door import Door
from support.raw_client import RawClient, notification, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]


def script(folder: Path, *turns: Turn) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted/{path}"


def answers(client: RawClient) -> dict[Any, Json]:
    """By id; each came once."""
    found = [message for message in client.seen if "id" in message and "method" not in message]
    assert len({message["id"] for message in found}) == len(found)
    return {message["id"]: message for message in found}


def delivered(client: RawClient) -> list[str]:
    """The queue ids of user messages in the conversation."""
    ended = [message["params"] for message in client.seen if message.get("method") == "agent/event"]
    return [
        event["message"]["queueId"]
        for event in ended
        if event["type"] == "message_end" and "queueId" in event["message"]
    ]


@pytest.mark.covers("Q3", "R104")
def test_steering_and_aborts_while_tool_listener_and_client_are_slow(
    client: RawClient, tmp_path: Path
) -> None:
    door = Door(tmp_path / "door")
    model = script(
        tmp_path,
        {"text": "0123456789" * 10, "deltas": 20_000, "calls": [call("c1", "bash", command=door.command)]},
        *[{"text": "Yes."}] * 5,
    )
    client.initialize(options={}, window={"workDoneProgress": True})
    session = client.session(tmp_path, model)
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    client.event("message_update")

    # Nothing is read for a while, so the listener that serves the client makes the run wait.
    client.send(*(steer(session, f"before {number}") for number in range(100)))
    client.send(
        follow_up(session, "f"), request("unqueue", "agent/unqueue", sessionId=session, queueIds=["x"])
    )
    time.sleep(1)
    client.send(
        request("abort 1", "agent/abort", sessionId=session),
        request("abort 2", "agent/abort", sessionId=session),
        *(steer(session, f"after {number}") for number in range(100)),
        request("last", "agent/state"),
    )
    time.sleep(1)
    for msg_id in ("prompt", "abort 1", "abort 2"):
        client.until(id=msg_id, method=None) if msg_id not in answers(client) else None
    settle(client, session)
    by_id = answers(client)

    queued = [by_id[f"{when} {number}"]["result"] for when in ("before", "after") for number in range(100)]
    queued.append(by_id["f"]["result"])
    returned = [item["queueId"] for item in by_id["prompt"]["result"]["returned"]]
    assert by_id["prompt"]["result"]["stopReason"] == "aborted"
    assert {answer["delivery"] for answer in queued[:100]} == {"steered"}
    assert {answer["delivery"] for answer in queued[100:200]} == {"prompted"}
    assert sorted([*delivered(client), *returned]) == sorted(answer["queueId"] for answer in queued)
    assert by_id["abort 1"]["result"]["runId"] == by_id["prompt"]["result"]["runId"]


def steer(session: str, text: str) -> Json:
    return request(text, "agent/steer", sessionId=session, text=text)


def follow_up(session: str, text: str) -> Json:
    return request(text, "agent/followUp", sessionId=session, text=text)


def settle(client: RawClient, session: str) -> None:
    """Read until the session is idle."""
    phase, number = "", 0
    while phase != "idle":
        state = client.ask(f"state {number}", "agent/state", sessionId=session)["result"]["sessions"][0]
        phase, number = state["phase"], number + 1


@pytest.mark.covers("R103", "R104")
def test_prompts_to_a_busy_session_are_all_refused_as_busy_and_the_first_is_unharmed(
    client: RawClient, tmp_path: Path
) -> None:
    door = Door(tmp_path / "door")
    calls = [call("c1", "bash", command=door.command)]
    client.initialize(options={})
    session = client.session(tmp_path, script(tmp_path, {"calls": calls}, {"text": "Done."}))
    client.send(*(request(number, "agent/prompt", sessionId=session, text="Go") for number in range(11)))
    busy = [client.answer(number)["error"] for number in range(1, 11)]
    door.open()

    assert {(error["code"], error["data"]["kind"]) for error in busy} == {(-31001, "busy")}
    assert client.answer(0)["result"]["text"] == "Done."


@pytest.mark.covers("R182")
def test_cancelled_requests_hold_nothing_up(client: RawClient, tmp_path: Path) -> None:
    client.initialize()
    model = script(tmp_path, {"text": "Done."})
    hover = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
    client.send(*(request(number, "textDocument/hover", **hover) for number in range(50)))
    client.send(*(notification("$/cancelRequest", id=number) for number in range(50)))
    new = client.ask("new", "session/new", cwd=str(tmp_path), model=model)["result"]["sessionId"]
    settled = client.ask("prompt", "agent/prompt", sessionId=new, text="Go")
    codes = {
        message["error"]["code"] for msg_id, message in answers(client).items() if isinstance(msg_id, int)
    }

    assert (len(answers(client)), settled["result"]["text"]) == (53, "Done.")
    assert codes <= {-32800, -32601}


@pytest.mark.covers("A5")
def test_an_abort_in_the_packet_of_its_prompt_is_not_lost(client: RawClient, tmp_path: Path) -> None:
    client.initialize(options={})
    session = client.session(tmp_path, script(tmp_path, {"stall": True}))
    client.send(
        request(1, "agent/prompt", sessionId=session, text="Go"),
        request(2, "agent/abort", sessionId=session),
    )

    assert client.answer(1)["result"]["stopReason"] == "aborted"
    assert client.answer(2)["result"]["aborted"] is True
