"""Questions to the client: as `agent/requestApproval`, or as messages where it knows no better."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.raw_client import RawClient, notification, request
from support.wire_lines import line
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

OURS, MESSAGE = "agent/requestApproval", "window/showMessageRequest"
TOUCH: Turn = {"calls": [call("c1", "bash", command="touch p")]}
DONE: Turn = {"text": "Done."}


def begin(client: RawClient, folder: Path, how: str | None, *turns: Turn) -> tuple[str, Path]:
    """A session of a client that can be asked in this way; its id and its folder."""
    script, project = folder / "script.json", folder / "project"
    script.write_text(json.dumps({"turns": turns or (TOUCH, DONE)}), encoding="utf-8")
    project.mkdir()
    window: Json = {"showMessage": {}} if how == MESSAGE else {}
    options = {"approvals": how == OURS, "settings": {"approvals.dialog": "quiet"}}
    client.initialize(options=options, window=window)
    return client.session(project, f"scripted/{script}", mode="ask"), project


def prompt(client: RawClient, session: str, msg_id: object = "prompt") -> None:
    client.send(request(msg_id, "agent/prompt", sessionId=session, text="Go"))


def reply(client: RawClient, question: Json, **answer: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": question["id"], **answer})


def allowing(question: Json) -> str:
    """The id of the option that allows it once."""
    return next(option["id"] for option in question["params"]["options"] if option["kind"] == "allowOnce")


def events(client: RawClient) -> list[str]:
    return [line(message["params"]) for message in client.seen if message.get("method") == "agent/event"]


@pytest.mark.parametrize("how", [OURS, MESSAGE])
def test_what_is_allowed_is_done(client: RawClient, tmp_path: Path, how: str) -> None:
    session, project = begin(client, tmp_path, how)
    prompt(client, session)
    question = client.until(method=how)
    reply(client, question, result={"optionId": allowing(question)} if how == OURS else {"title": "Allow"})

    assert client.answer("prompt")["result"]["stopReason"] == "completed"
    assert [path.name for path in project.iterdir()] == ["p"]
    assert "AR c1 allowed" in events(client)


def test_a_message_puts_rejection_first_and_shows_the_command(client: RawClient, tmp_path: Path) -> None:
    session, _ = begin(client, tmp_path, MESSAGE)
    prompt(client, session)

    assert client.until(method=MESSAGE)["params"] == {
        "type": 2,
        "message": "Pilothouse: Run touch p?\ntouch p\nAllow for this session: exactly this command: touch p",
        "actions": [{"title": "Reject"}, {"title": "Allow"}, {"title": "Allow for this session"}],
    }


NO: list[Json] = [
    {"result": None},
    {"result": {}},
    {"result": []},
    {"result": "Allow"},
    {"result": {"title": "allow"}},
    {"result": {"title": ["Allow"]}},
    {"result": {"optionId": "unknown"}},
    {"result": {"optionId": 7}},
    {"error": {"code": -32601, "message": "Method not found"}},
    {"error": {"code": -32800, "message": "cancelled"}},
    {"error": None, "result": {"title": "Reject"}},
    {"error": "no object"},
]


@pytest.mark.covers("P4", "R016", "R080", "R086")
@pytest.mark.parametrize("how", [OURS, MESSAGE])
@pytest.mark.parametrize("answer", NO)
def test_every_other_answer_is_a_no_and_the_run_goes_on(
    client: RawClient, tmp_path: Path, how: str, answer: Json
) -> None:
    session, project = begin(client, tmp_path, how)
    prompt(client, session)
    reply(client, client.until(method=how), **answer)

    assert client.answer("prompt")["result"]["stopReason"] == "completed"
    assert list(project.iterdir()) == []
    assert "AR c1 denied" in events(client)


@pytest.mark.covers("P4", "R085")
def test_a_client_that_cannot_be_asked_is_a_no_at_once(client: RawClient, tmp_path: Path) -> None:
    session, project = begin(client, tmp_path, None)
    prompt(client, session)

    assert client.answer("prompt")["result"]["text"] == "Done."
    assert list(project.iterdir()) == []
    assert [message["method"] for message in client.seen if "id" in message and "method" in message] == []
    assert "XE c1 denied" in events(client)


@pytest.mark.covers("A5", "P2", "R016", "R079", "R080")
@pytest.mark.parametrize("how", [OURS, MESSAGE])
@pytest.mark.parametrize("by", ["agent/abort", "$/cancelRequest"])
def test_an_abort_withdraws_the_question_and_the_next_prompt_works(
    client: RawClient, tmp_path: Path, how: str, by: str
) -> None:
    session, project = begin(client, tmp_path, how)
    prompt(client, session)
    question = client.until(method=how)
    if by == "agent/abort":
        client.send(request("abort", "agent/abort", sessionId=session))
    else:
        client.send(notification("$/cancelRequest", id="prompt"))
    withdrawn = client.until(method="$/cancelRequest")["params"]
    aborted = client.answer("prompt")["result"]["stopReason"]
    reply(client, question, error={"code": -32800, "message": "cancelled"})
    prompt(client, session, "next")

    assert (withdrawn, aborted) == ({"id": question["id"]}, "aborted")
    assert client.answer("next")["result"]["stopReason"] == "completed"
    assert list(project.iterdir()) == []
    assert "AR c1 cancelled" in events(client)


ENDS: list[Callable[[RawClient], object]] = [
    lambda client: client.send(request("shutdown", "shutdown")),
    lambda client: client.notify("exit"),
    lambda client: client.close_input(),
    lambda client: client.signal(signal.SIGTERM),
]


@pytest.mark.covers("P4", "R016")
@pytest.mark.parametrize("end", ENDS, ids=["shutdown", "exit", "end of input", "signal"])
@pytest.mark.parametrize("how", [OURS, MESSAGE])
def test_the_end_of_the_session_or_the_connection_is_a_no(
    client: RawClient, tmp_path: Path, how: str, end: Callable[[RawClient], object]
) -> None:
    session, project = begin(client, tmp_path, how)
    prompt(client, session)
    client.until(method=how)
    end(client)

    assert client.answer("prompt")["result"]["stopReason"] == "aborted"
    client.notify("exit") if end is ENDS[0] else None
    client.ended(3)
    assert list(project.iterdir()) == []


@pytest.mark.covers("P2")
def test_an_answer_from_elsewhere_withdraws_the_question_and_only_the_first_counts(
    client: RawClient, tmp_path: Path
) -> None:
    session, project = begin(client, tmp_path, OURS)
    prompt(client, session)
    question = client.until(method=OURS)
    params = question["params"]
    answers = [
        client.ask(number, "agent/answer", approvalId=params["approvalId"], optionId=option)
        for number, option in enumerate([allowing(question), "reject"])
    ]
    reply(client, question, result={"optionId": "reject"})
    client.answer("prompt")

    assert answers[0] == {"result": {}}
    assert (answers[1]["error"]["code"], answers[1]["error"]["data"]) == (-31004, {"kind": "alreadyResolved"})
    assert {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": question["id"]}} in client.seen
    assert [path.name for path in project.iterdir()] == ["p"]


def test_messages_are_asked_one_at_a_time_whoever_asks(client: RawClient, tmp_path: Path) -> None:
    first, project = begin(client, tmp_path, MESSAGE)
    second = client.session(project, f"scripted/{tmp_path / 'script.json'}", mode="ask")
    prompt(client, first, "first")
    prompt(client, second, "second")
    question = client.until(method=MESSAGE)
    states = [client.ask(number, "agent/state")["result"]["sessions"] for number in range(50)]
    asked = [message for message in client.seen if message.get("method") == MESSAGE]
    reply(client, question, result=None)
    again = client.until(method=MESSAGE)
    reply(client, again, result={"title": "Allow"})

    assert [len(state["approvals"]) for state in states[-1]] == [1, 1]
    assert (asked, question["id"] != again["id"]) == ([question], True)
    assert {client.until(method=None)["result"]["stopReason"] for _ in range(2)} == {"completed"}


@pytest.mark.parametrize("chosen", ["rejectOnce", "allowOnce"])
def test_an_answer_that_says_stop_ends_the_run_whatever_it_chose(
    client: RawClient, tmp_path: Path, chosen: str
) -> None:
    session, project = begin(client, tmp_path, OURS)
    prompt(client, session)
    question = client.until(method=OURS)
    option = next(each["id"] for each in question["params"]["options"] if each["kind"] == chosen)
    reply(client, question, result={"optionId": option, "reason": "enough", "stop": True})
    ended = client.answer("prompt")["result"]

    assert (ended["stopReason"], ended["text"]) == ("aborted", "")
    assert not (project / "p").exists()
    assert "Done." not in json.dumps(client.seen)
    prompt(client, session, "next")
    assert client.answer("next")["result"]["text"] == "Done."
