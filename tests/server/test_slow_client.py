"""A client that does not read: memory is bounded, others are served, nothing is missing when it reads on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.memory import peak_megabytes, resident_megabytes
from support.raw_client import RawClient, request
from support.wire_lines import line
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

WORD, WORDS = "0123456789", 100_000
PAUSE = 10.0
"""Seconds for which nothing is read."""


def script(folder: Path, name: str, *turns: Turn) -> str:
    path = folder / name
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted/{path}"


def appears(path: Path) -> bool:
    until = time.monotonic() + PAUSE
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    return path.exists()


@pytest.mark.covers("E6")
def test_a_hundred_thousand_deltas_for_a_client_that_pauses(client: RawClient, tmp_path: Path) -> None:
    pid = client.process.pid
    calls = [call("c1", "bash", command="true")]
    talking = script(tmp_path, "a", {"text": WORD, "deltas": WORDS, "calls": calls}, {"text": "Done."})
    touching = script(tmp_path, "b", {"calls": [call("t", "bash", command="touch touched")]}, {"text": "x"})
    client.initialize(options={})
    session = client.session(tmp_path, talking)
    other = client.ask("other", "session/new", cwd=str(tmp_path), model=touching, mode="all")
    before = resident_megabytes(pid)

    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    paused = time.monotonic()
    other_id = other["result"]["sessionId"]
    client.send(request("touch", "agent/prompt", sessionId=other_id, text="Go"))
    served = appears(tmp_path / "touched")
    time.sleep(max(0, paused + PAUSE - time.monotonic()))
    grown = peak_megabytes(pid) - before
    settled, events = read_on(client, session)

    assert served
    assert grown < 30
    assert settled["result"]["stopReason"] == "completed"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "".join(event["delta"]["text"] for event in events if is_text(event)) == WORD * WORDS + "Done."
    assert [line(event) for event in events if event["type"] != "message_update"] == STATE
    assert len(events) < WORDS


STATE = [
    *["AS", "PH idle→turn", "TS1", "MS(U)", "ME(U,Go)", "MS(A)", "ME(A,toolUse)", "XS c1", "XE c1 ok"],
    *["MS(R)", "ME(R,c1 ok)", "TE1"],
    *["TS2", "MS(A)", "ME(A,stop)", "TE2", "PH turn→idle", "AE completed"],
]


def read_on(client: RawClient, session: str) -> tuple[Json, list[Json]]:
    """The answer, and all events of the session."""
    events: list[Json] = []
    while (message := client.read()) is not None:
        client.seen.clear()
        if message.get("id") == "prompt":
            return message, events
        if message.get("params", {}).get("sessionId") == session:
            events.append(message["params"])
    raise AssertionError("the output ended")


def is_text(event: Json) -> bool:
    return event["type"] == "message_update" and event["delta"]["kind"] == "text"


def test_an_abort_is_not_held_up_by_a_client_that_does_not_read(client: RawClient, tmp_path: Path) -> None:
    talking = script(tmp_path, "a", {"text": WORD * 10, "deltas": WORDS})
    touching = script(tmp_path, "b", {"calls": [call("t", "bash", command="touch touched")]}, {"text": "x"})
    client.initialize(options={})
    session = client.session(tmp_path, talking)
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    client.event("message_update")
    time.sleep(1)
    client.send(request("abort", "agent/abort", sessionId=session))
    taken = prompted(client, session, touching, tmp_path / "touched")

    assert client.answer("abort")["result"]["aborted"] is True
    assert taken


def prompted(client: RawClient, session: str, model: str, touched: Path) -> bool:
    """Prompts until one is taken, without reading that it was."""
    until = time.monotonic() + PAUSE
    number = 0
    while not touched.exists() and time.monotonic() < until:
        client.send(request(f"again {number}", "agent/prompt", sessionId=session, text="Go", model=model))
        number += 1
        time.sleep(0.1)
    return touched.exists()


def test_the_end_of_input_ends_the_server_though_the_client_does_not_read(
    client: RawClient, tmp_path: Path
) -> None:
    client.initialize(options={})
    session = client.session(tmp_path, script(tmp_path, "a", {"text": WORD * 10, "deltas": WORDS}))
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    client.event("message_update")
    time.sleep(0.5)
    client.close_input()

    assert client.ended(3) == 1
