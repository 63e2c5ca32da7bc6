"""A run as work-done progress, towards a client that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.door import Door
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

CREATE, CANCEL = "window/workDoneProgress/create", "window/workDoneProgress/cancel"


def prompting(client: RawClient, folder: Path, *turns: Turn) -> None:
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={}, window={"workDoneProgress": True})
    session = client.session(folder, f"scripted/{script}")
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))


def created(client: RawClient, question: Json, **answer: Any) -> str:
    """The token, once the client has answered."""
    client.send({"jsonrpc": "2.0", "id": question["id"], **(answer or {"result": None})})
    return question["params"]["token"]


def progress(client: RawClient) -> list[Json]:
    return [message["params"] for message in client.seen if message.get("method") == "$/progress"]


def test_a_run_is_shown_from_its_beginning_to_its_end(client: RawClient, tmp_path: Path) -> None:
    doors = [Door(tmp_path / "door1"), Door(tmp_path / "door2")]
    turns: list[Turn] = [
        {"calls": [call(f"c{number}", "bash", command=door.command)]} for number, door in enumerate(doors)
    ]
    prompting(client, tmp_path, *turns, {"text": "Done."})
    question = client.until(method=CREATE)
    client.event("tool_execution_start")
    token = created(client, question)
    client.until(method="$/progress")
    for door in doors:
        door.open()
    client.answer("prompt")

    first, second = (f"Run {door.command}" for door in doors)
    assert [(shown["token"], shown["value"]) for shown in progress(client)] == [
        (token, {"kind": "begin", "title": "Pilothouse", "cancellable": True, "message": first}),
        (token, {"kind": "report", "message": second}),
        (token, {"kind": "end", "message": "completed"}),
    ]


def test_cancelling_it_aborts_the_run_and_other_tokens_do_not(client: RawClient, tmp_path: Path) -> None:
    prompting(client, tmp_path, {"calls": [call("c1", "bash", command="sleep 100")]})
    token = created(client, client.until(method=CREATE))
    client.until(method="$/progress")
    for odd in ("another", 7, None, [token]):
        client.notify(CANCEL, token=odd)
    busy = client.ask(1, "agent/state")["result"]["sessions"][0]["phase"]
    client.notify(CANCEL, token=token)

    assert (busy, client.answer("prompt")["result"]["stopReason"]) == ("turn", "aborted")
    assert progress(client)[-1] == {"token": token, "value": {"kind": "end", "message": "aborted"}}


def test_a_client_that_refuses_the_token_is_shown_nothing(client: RawClient, tmp_path: Path) -> None:
    door = Door(tmp_path / "door")
    calls = [call("c1", "bash", command=door.command)]
    prompting(client, tmp_path, {"calls": calls}, {"text": "Done."})
    created(client, client.until(method=CREATE), error={"code": -32601, "message": "no"})
    client.ask(1, "agent/state")
    door.open()

    assert client.answer("prompt")["result"]["stopReason"] == "completed"
    assert progress(client) == []


def test_a_run_that_ends_before_the_client_has_answered_withdraws_its_token(
    client: RawClient, tmp_path: Path
) -> None:
    prompting(client, tmp_path, {"text": "Done."})
    question = client.until(method=CREATE)
    withdrawn = client.until(method="$/cancelRequest")["params"]
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": None})
    client.answer("prompt") if not any(seen.get("id") == "prompt" for seen in client.seen) else None
    client.ask(1, "agent/state")

    assert withdrawn == {"id": question["id"]}
    assert progress(client) == []


@pytest.mark.parametrize("shows", [True, False])
def test_a_prompt_with_a_token_shows_its_run_on_it(client: RawClient, tmp_path: Path, shows: bool) -> None:
    script = tmp_path / "script.json"
    turns: list[Turn] = [
        {"calls": [call("c1", "bash", command="true")]},
        {"text": "Done."},
        {"text": "More."},
    ]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={}, window={"workDoneProgress": shows})
    session = client.session(tmp_path, f"scripted/{script}")
    prompt: Json = {"sessionId": session, "text": "Go"}
    client.ask("first", "agent/prompt", **prompt, workDoneToken=7)
    client.send(request("second", "agent/prompt", **prompt))
    if shows:
        created(client, client.until(method=CREATE), error={"code": 1, "message": "no"})
    client.answer("second")

    assert progress(client) == [
        {"token": 7, "value": {"kind": "begin", "title": "Pilothouse", "cancellable": True}},
        {"token": 7, "value": {"kind": "report", "message": "Run true"}},
        {"token": 7, "value": {"kind": "end", "message": "completed"}},
    ]


def test_cancelling_a_token_of_the_clients_aborts_its_run(client: RawClient, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    turns: list[Turn] = [{"calls": [call("c1", "bash", command="sleep 60")]}]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={})
    session = client.session(tmp_path, f"scripted/{script}")
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go", workDoneToken="mine"))
    client.event("tool_execution_start")
    client.notify(CANCEL, token="mine")

    assert client.answer("prompt")["result"]["stopReason"] == "aborted"
    assert progress(client)[-1] == {"token": "mine", "value": {"kind": "end", "message": "aborted"}}
