"""`agent/events`: a client that lost its view gets it back without a gap and without anything twice."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.door import Door
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

UPDATES = ("message_update", "tool_execution_update")


def begin(client: RawClient, folder: Path, *turns: Turn) -> tuple[str, str]:
    """The ids of a session and of the server's epoch."""
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={})
    params = {"cwd": str(folder), "model": f"scripted/{script}", "mode": "all"}
    made = client.ask("new", "session/new", **params)["result"]
    return made["sessionId"], made["epoch"]


def events(client: RawClient) -> list[Json]:
    return [message["params"] for message in client.seen if message.get("method") == "agent/event"]


@pytest.mark.covers("E6")
def test_a_run_that_is_over_comes_again_without_its_updates(client: RawClient, tmp_path: Path) -> None:
    calls = [call("c1", "bash", command="echo hello")]
    session, epoch = begin(client, tmp_path, {"text": ["a", "b"], "calls": calls}, {"text": ["c", "d"]})
    client.ask("prompt", "agent/prompt", sessionId=session, text="Go")
    seen = events(client)
    again = client.ask("again", "agent/events", sessionId=session, epoch=epoch, afterSeq=0)["result"]

    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert again == {
        "events": [event for event in seen if event["type"] not in UPDATES],
        "throughSeq": len(seen),
        "more": False,
    }


def test_much_comes_in_portions(client: RawClient, tmp_path: Path) -> None:
    session, epoch = begin(client, tmp_path, {"text": "Done."})
    client.ask("prompt", "agent/prompt", sessionId=session, text="Go")
    portions: list[Json] = []
    after, more = 0, True
    while more:
        params = {"sessionId": session, "epoch": epoch, "afterSeq": after, "limit": 3}
        portion = client.ask(f"after {after}", "agent/events", **params)["result"]
        portions += portion["events"]
        after, more = portion["throughSeq"], portion["more"]

    assert portions == [event for event in events(client) if event["type"] != "message_update"]
    assert after == len(events(client))


def test_a_client_of_another_epoch_gets_the_session_as_it_stands(client: RawClient, tmp_path: Path) -> None:
    session, epoch = begin(client, tmp_path, {"text": "Done."})
    client.ask("prompt", "agent/prompt", sessionId=session, text="Go")
    params = {"sessionId": session, "epoch": "another", "afterSeq": 7}
    snapshot = client.ask("again", "agent/events", **params)["result"]["snapshot"]

    ended = [event["message"] for event in events(client) if event["type"] == "message_end"]
    assert (snapshot["epoch"], snapshot["seq"], snapshot["messages"]) == (epoch, len(events(client)), ended)
    assert (snapshot["state"]["phase"], "streamingMessage" in snapshot) == ("idle", False)


@pytest.mark.covers("E6")
@pytest.mark.parametrize("lost", ["epoch", "view"])
def test_a_view_taken_in_the_middle_of_an_answer_goes_on_where_it_ends(
    client: RawClient, tmp_path: Path, lost: str
) -> None:
    door = Door(tmp_path / "door")
    words = [f"{number} " for number in range(60_000)]
    calls = [call("c1", "bash", command=door.command)]
    session, epoch = begin(client, tmp_path, {"calls": calls}, {"text": words})
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    client.event("tool_execution_start")
    door.open()
    for number in range(10):
        # The server gets ahead of the client, so that text waits to leave.
        time.sleep(0.1)
        asked = {"sessionId": session, "epoch": epoch if lost == "view" else "x", "afterSeq": 0}
        client.send(request(number, "agent/events", limit=10_000, **asked))
        client.event("message_update")
    client.answer("prompt")
    while len(views := views_in(client)) < 10:
        assert client.read() is not None

    after = [(event["seq"], text) for event in events(client) if (text := told(event)) is not None]
    for text, through in views:
        assert text + "".join(more for seq, more in after if seq > through) == "".join(words)
    assert any(text for text, _ in views)


def views_in(client: RawClient) -> list[tuple[str, int]]:
    return [client_view(message["result"]) for message in client.seen if isinstance(message.get("id"), int)]


def client_view(result: Json) -> tuple[str, int]:
    """The text of the answer so far, and the number up to which this is told."""
    if (snapshot := result.get("snapshot")) is not None:
        messages = [*snapshot["messages"], snapshot.get("streamingMessage", NOTHING)]
        return "".join(map(answered, messages)), snapshot["seq"]
    assert not result["more"]
    ended = (answered(event["message"]) for event in result["events"] if event["type"] == "message_end")
    texts = [text for event in result["events"] if (text := told(event)) is not None]
    return "".join([*ended, *texts]), result["throughSeq"]


NOTHING: Json = {"role": "assistant", "content": []}


def answered(message: Json) -> str:
    """The text of an answer, whole or as far as it has come."""
    if message.get("role", "assistant") != "assistant":
        return ""
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def told(event: Json) -> str | None:
    """The text that an event adds to the answer."""
    if event["type"] == "message_update" and event["delta"]["kind"] == "text":
        return event["delta"]["text"]
    return None


@pytest.mark.parametrize(
    "params",
    [{}, {"afterSeq": -1}, {"afterSeq": "1"}, {"epoch": None}, {"limit": 0}, {"limit": 10**9}],
)
def test_params_that_do_not_fit_are_refused_each_by_its_path(
    client: RawClient, tmp_path: Path, params: Json
) -> None:
    session, epoch = begin(client, tmp_path)
    asked = {"sessionId": session, "epoch": epoch, "afterSeq": 0, **params} if params else {}
    error = client.ask("bad", "agent/events", **asked)["error"]

    paths = [violation["path"] for violation in error["data"]["violations"]]
    assert (error["code"], paths) == (-32602, list(params) or ["sessionId", "epoch", "afterSeq"])
