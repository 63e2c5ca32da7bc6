"""Answers that say exactly what is wrong, and leave nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.nursery import Nursery
from support.raw_client import RawClient, request, started
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.covers("R263")]

Json: TypeAlias = dict[str, Any]


def script(folder: Path, *turns: Turn) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns or [{"text": "Hi."}]}), encoding="utf-8")
    return f"scripted/{path}"


def sessions(client: RawClient) -> list[str]:
    return [state["sessionId"] for state in client.ask("all", "agent/state")["result"]["sessions"]]


def test_a_server_whose_folder_is_gone_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with started(tmp_path, cwd=folder) as client:
        folder.rmdir()
        client.initialize(options={})
        answers = [
            client.ask(1, "session/new", model=script(tmp_path)),
            client.ask(2, "agent/prompt", text="Go", model=script(tmp_path)),
        ]

        said = "no folder is open, and the one the server was started in is gone; say where to work"
        violations = {"violations": [{"path": "cwd", "message": said}]}
        assert [answer["error"] for answer in answers] == [
            {"code": -32602, "message": f"cwd: {said}", "data": violations}
        ] * 2
        assert sessions(client) == []


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"cwd": "relative"}, "cwd"),
        ({"cwd": "/nowhere/at/all"}, "cwd"),
        ({"folders": ["/nowhere"]}, "folders.0"),
        ({"folders": ["/", "x"]}, "folders.1"),
        ({"cwd": "/", "folders": ["/", "file:///nowhere"]}, "folders.1"),
        ({"folders": [7]}, "folders.0"),
        ({"mode": "bogus"}, "mode"),
    ],
)
def test_a_violation_names_the_field_that_was_sent(
    client: RawClient, tmp_path: Path, params: Json, field: str
) -> None:
    client.initialize(options={})
    error = client.ask(1, "session/new", model=script(tmp_path), **params)["error"]

    assert (error["code"], [each["path"] for each in error["data"]["violations"]]) == (-32602, [field])
    assert sessions(client) == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"text": " "}, "the message is empty"),
        ({"content": []}, "the message is empty"),
        ({"content": [{"type": "text", "text": "\n"}]}, "the message is empty"),
        ({}, "give either text or content"),
    ],
)
def test_an_empty_prompt_is_refused_in_plain_words_and_leaves_no_session(
    client: RawClient, tmp_path: Path, message: Json, said: str
) -> None:
    client.initialize(options={})
    error = client.ask(1, "agent/prompt", model=script(tmp_path), **message)["error"]

    assert (error["code"], [each["message"] for each in error["data"]["violations"]]) == (-32602, [said])
    assert "Value error" not in error["message"]
    assert sessions(client) == []


@pytest.mark.parametrize("method", ["agent/prompt", "agent/steer", "agent/followUp"])
def test_whatever_would_begin_a_run_says_the_same_where_the_key_is_missing(
    servers: Nursery, tmp_path: Path, method: str
) -> None:
    with servers.started(tmp_path, {"MISTRAL_API_KEY": "", "PILOTHOUSE_MODEL": "mistral/m"}) as client:
        client.initialize(options={})
        session = client.ask("new", "session/new", cwd=str(tmp_path))["result"]["sessionId"]
        error = client.ask(1, method, sessionId=session, text="Go")["error"]

        assert (error["code"], error["data"]) == (-31006, {"kind": "noCredentials"})
        assert error["message"].startswith("mistral needs a key: set MISTRAL_API_KEY")
        assert client.ask(2, "agent/state")["result"]["sessions"][0]["phase"] == "idle"


def test_after_shutdown_every_request_has_the_code_of_its_kind(client: RawClient, tmp_path: Path) -> None:
    client.initialize(options={})
    client.send(
        request(1, "shutdown"),
        request(2, "agent/state"),
        request(3, "session/new", cwd=str(tmp_path)),
        request(4, "nope"),
        request(5, "shutdown"),
    )
    answers = [client.answer(number) for number in (2, 3, 4, 5, 1)]

    assert [answer["error"] for answer in answers[:-1]] == [
        {"code": -31008, "message": "The server is shutting down.", "data": {"kind": "shuttingDown"}}
    ] * 4
    assert answers[-1] == {"result": None}


def test_a_session_that_is_closed_is_forgotten_after_its_last_event(
    client: RawClient, tmp_path: Path
) -> None:
    client.initialize(options={})
    model = script(tmp_path, {"calls": [call("c1", "bash", command="sleep 60")]}, {"text": "Never."})
    session = client.session(tmp_path, model)
    other = client.ask("other", "session/new", cwd=str(tmp_path), model=model)["result"]
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    client.event("tool_execution_start")
    client.send(
        request("close", "session/close", sessionId=session),
        request("late", "agent/prompt", sessionId=session, text="Go"),
        request("again", "session/close", sessionId=session),
    )
    late, again = client.answer("late"), client.answer("again")
    closed = client.answer("close")
    order = [message.get("id") or message["params"]["type"] for message in client.seen]

    assert [answer["error"]["data"] for answer in (late, again)] == [{"kind": "unknownSession"}] * 2
    assert closed == {"result": {}}
    prompted = next(message for message in client.seen if message.get("id") == "prompt")
    assert prompted["result"]["stopReason"] == "aborted"
    assert order.index("agent_end") < order.index("prompt") < order.index("close")
    assert sessions(client) == [other["sessionId"]]


@pytest.mark.parametrize("command", ["pilothouse.approve", "pilothouse.deny"])
def test_a_command_without_an_id_answers_the_only_question_and_never_one_of_several(
    client: RawClient, tmp_path: Path, command: str
) -> None:
    client.initialize(options={"approvals": True})
    model = script(tmp_path, {"calls": [call("c1", "bash", command="touch made")]}, {"text": "Done."})
    questions: list[Json] = []
    for name in ("first", "second"):
        session = client.session(tmp_path, model, mode="ask")
        client.send(request(name, "agent/prompt", sessionId=session, text="Go"))
        questions.append(client.until(method="agent/requestApproval")["params"])
    ids = [question["approvalId"] for question in questions]

    unclear = client.ask(1, "workspace/executeCommand", command=command)["error"]
    named = client.ask(2, "workspace/executeCommand", command=command, arguments=[{"approvalId": ids[1]}])
    second = client.answer("second")
    only = client.ask(3, "workspace/executeCommand", command=command)
    first = client.answer("first")
    none = client.ask(4, "workspace/executeCommand", command=command)["error"]

    listed = "; ".join(f"{question['approvalId']} ({question['title']})" for question in questions)
    assert unclear["data"] == {
        "violations": [{"path": "approvalId", "message": f"several questions are open; name one of {listed}"}]
    }
    assert (named, only) == ({"result": {}}, {"result": {}})
    assert [answer["result"]["stopReason"] for answer in (first, second)] == ["completed", "completed"]
    assert none["data"] == {"kind": "alreadyResolved"}
