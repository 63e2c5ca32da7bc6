"""What the model learns from the editor, and what the editor does for it, with a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_server.wire import method_names as names
from support.nursery import Nursery
from support.open_documents import change, opening, saving
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

DONE: Turn = {"text": "Done."}
ASKED_BY_MESSAGE: Json = {"settings": {"approvals.dialog": "quiet"}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_bytes(b"x = 1\n")
    (folder / "b.py").write_bytes(b"y = 1\n")
    return folder


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


@pytest.fixture
def client(servers: Nursery, tmp_path: Path, requests: Path) -> Iterator[RawClient]:
    with servers.started(tmp_path, {"PILOTHOUSE_SCRIPT_LOG": str(requests)}) as client:
        yield client


def begin(
    client: RawClient, project: Path, *turns: Turn, options: Json | None = None, window: Json | None = None
) -> str:
    script = project.parent / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options=options or {}, workspace={"applyEdit": True}, window=window or {})
    return client.session(project, f"scripted/{script}")


def go(client: RawClient, session: str, **params: Any) -> None:
    client.send(request("run", names.PROMPT, sessionId=session, **{"text": "Go", **params}))


def reply(client: RawClient, asked: Json, **answer: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": asked["id"], **answer})


def asked(client: RawClient, method: str, **result: Any) -> Json:
    """The next request of this kind, answered."""
    message = client.until(method=method)
    reply(client, message, result=result)
    return message["params"]


def tell(client: RawClient, path: Path, text: str, *, version: int = 1) -> str:
    uri = path_to_uri(str(path))
    client.notify(names.DID_OPEN, **opening(uri, text, version))
    return uri


def take_edit(client: RawClient, text: str) -> None:
    message = client.until(method=names.APPLY_EDIT)
    document = message["params"]["edit"]["documentChanges"][0]["textDocument"]
    client.notify(names.DID_CHANGE, **change(document["uri"], document["version"] + 1, text))
    reply(client, message, result={"applied": True})


def results(client: RawClient) -> list[str]:
    """The texts of the tool results, once the run has ended."""
    client.answer("run")
    ended = [m["params"]["message"] for m in client.seen if m.get("params", {}).get("type") == "message_end"]
    return [
        "".join(block["text"] for block in each["content"]) for each in ended if each["role"] == "toolResult"
    ]


def test_the_note_stands_before_the_prompt_which_stays_as_it_was_typed(
    client: RawClient, project: Path, requests: Path
) -> None:
    session = begin(client, project, DONE, DONE)
    uri = tell(client, project / "a.py", "x = 1\ny = 2\n")
    span = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 5}}
    for _ in range(2):
        go(client, session, context={"uri": uri, "selection": span})
        client.answer("run")
    sent = [json.loads(line)["messages"] for line in requests.read_text(encoding="utf-8").splitlines()]
    texts = ["".join(block.get("text", "") for block in message["content"]) for message in sent[1]]

    assert [message["role"] for message in sent[0]] == ["user", "user"]
    assert texts[0].splitlines()[1:] == [
        "Active file: a.py",
        "Selected: line 2",
        "<selection>",
        "y = 2",
        "</selection>",
        "Open files:",
        "- a.py (unsaved)",
    ]
    assert texts[1:] == ["Go", "Done.", "Go"]


def test_tools_that_need_the_client_are_there_only_when_it_can(
    servers: Nursery, project: Path, tmp_path: Path, requests: Path
) -> None:
    chances: list[tuple[Json, Json]] = [
        ({}, {}),
        ({"questions": True}, {}),
        ({"diagnostics": True}, {}),
        ({}, {"showMessage": {}}),
        (ASKED_BY_MESSAGE, {"showMessage": {}}),
    ]
    for options, window in chances:
        with servers.started(tmp_path, {"PILOTHOUSE_SCRIPT_LOG": str(requests)}) as client:
            session = begin(client, project, DONE, options=options, window=window)
            go(client, session)
            client.answer("run")
    sent = [json.loads(line)["tools"] for line in requests.read_text(encoding="utf-8").splitlines()]
    offered = [[tool["name"] if isinstance(tool, dict) else tool for tool in tools][10:] for tools in sent]  # pyright: ignore[reportUnknownVariableType]

    assert offered == [[], ["ask_user"], ["diagnostics"], [], ["ask_user"]]


def test_the_model_asks_for_diagnostics_and_gets_lines_from_1(client: RawClient, project: Path) -> None:
    session = begin(
        client,
        project,
        {"calls": [call("c1", "diagnostics", path="a.py"), call("c2", "diagnostics", path="b.py")]},
        DONE,
        options={"diagnostics": True},
    )
    go(client, session)
    where = {"start": {"line": 6, "character": 0}, "end": {"line": 6, "character": 1}}
    found = {"range": where, "severity": 2, "message": "odd", "source": "lint", "code": 12}
    answers = {
        path_to_uri(str(project / "a.py")): [found, {"message": 1}, 5],
        path_to_uri(str(project / "b.py")): [],
    }
    for _ in answers:
        message = client.until(method=names.DIAGNOSTICS)
        reply(client, message, result={"diagnostics": answers[message["params"]["uri"]]})

    assert results(client) == ["a.py:\nline 7: warning: odd [lint 12]", "Nothing is reported about b.py."]


def test_what_is_new_after_an_edit_is_in_its_result(client: RawClient, project: Path) -> None:
    edit = call("c1", "edit_file", path="a.py", old_text="x = 1", new_text="\nx = z")
    session = begin(client, project, {"calls": [edit]}, DONE, options={"diagnostics": True})

    def at(line: int, message: str, severity: int = 1) -> Json:
        place = {"line": line, "character": 0}
        return {"range": {"start": place, "end": place}, "severity": severity, "message": message}

    go(client, session)
    asked(client, names.DIAGNOSTICS, diagnostics=[at(0, "old")])
    asked(client, names.DIAGNOSTICS, diagnostics=[at(1, "old"), at(1, "z is not defined"), at(1, "hm", 4)])
    (result,) = results(client)

    assert result.endswith(
        "[The editor reports, new since before this edit:]\nline 2: error: z is not defined\n"
    )


@pytest.mark.parametrize("answer", [{"error": {"code": -32603, "message": "no"}}, {"result": None}])
def test_an_editor_that_cannot_tell_its_diagnostics_holds_up_no_edit(
    client: RawClient, project: Path, answer: Json
) -> None:
    edit = call("c1", "edit_file", path="a.py", old_text="x = 1", new_text="x = 2")
    session = begin(client, project, {"calls": [edit]}, DONE, options={"diagnostics": True})
    go(client, session)
    reply(client, client.until(method=names.DIAGNOSTICS), **answer)
    if "result" in answer:
        reply(client, client.until(method=names.DIAGNOSTICS), **answer)

    assert "reports" not in results(client)[0]
    assert (project / "a.py").read_bytes() == b"x = 2\n"


def test_an_editor_that_once_did_not_tell_its_diagnostics_is_asked_at_no_later_edit(
    client: RawClient, project: Path
) -> None:
    edits = [
        call("c1", "edit_file", path="a.py", old_text="x = 1", new_text="x = 2"),
        call("c2", "edit_file", path="b.py", old_text="y = 1", new_text="y = 2"),
    ]
    session = begin(
        client, project, *({"calls": [edit]} for edit in edits), DONE, options={"diagnostics": True}
    )
    go(client, session)
    asked(client, names.DIAGNOSTICS, diagnostics=[])
    reply(client, client.until(method=names.DIAGNOSTICS), error={"code": -32603, "message": "no"})
    told = results(client)

    assert [message.get("method") for message in client.seen].count(names.DIAGNOSTICS) == 2
    assert [text.splitlines()[0] for text in told] == [
        f"Edited {name}: 1 line added, 1 removed." for name in ("a.py", "b.py")
    ]


ASK: Turn = {"calls": [call("c1", "ask_user", question="Which one?", options=["left", "right"])]}


def test_a_question_is_answered_in_any_words(client: RawClient, project: Path) -> None:
    session = begin(client, project, ASK, DONE, options={"questions": True})
    go(client, session)
    params = asked(client, names.ASK, answer="neither")

    assert {**params, "questionId": ""} == {
        "questionId": "",
        "sessionId": session,
        "question": "Which one?",
        "options": ["left", "right"],
    }
    assert results(client) == ["The user answers: neither"]


def test_a_question_is_a_message_where_the_client_knows_no_better(client: RawClient, project: Path) -> None:
    session = begin(client, project, ASK, ASK, DONE, options=ASKED_BY_MESSAGE, window={"showMessage": {}})
    go(client, session)
    shown = asked(client, names.SHOW_MESSAGE_REQUEST, title="right")
    asked(client, names.SHOW_MESSAGE_REQUEST)
    chosen, unanswered = results(client)

    assert shown == {
        "type": 3,
        "message": "Pilothouse asks: Which one?",
        "actions": [{"title": "left"}, {"title": "right"}],
    }
    assert chosen == "The user answers: right"
    assert unanswered.startswith("The user gave no answer.")


def test_a_client_that_can_only_choose_is_not_asked_an_open_question(
    client: RawClient, project: Path
) -> None:
    turn: Turn = {"calls": [call("c1", "ask_user", question="Why?")]}
    session = begin(client, project, turn, DONE, options=ASKED_BY_MESSAGE, window={"showMessage": {}})
    go(client, session)

    assert "options: this user can only choose" in results(client)[0]


def test_an_abort_takes_the_question_back(client: RawClient, project: Path) -> None:
    session = begin(client, project, ASK, options={"questions": True})
    go(client, session)
    question = client.until(method=names.ASK)
    client.send(request("stop", names.ABORT, sessionId=session))

    assert client.until(method=names.CANCEL)["params"] == {"id": question["id"]}
    assert client.answer("run")["result"]["stopReason"] == "aborted"


CAT: Turn = {"calls": [call("c2", "bash", command="cat a.py b.py")]}
UNSAVED = "unsaved in the editor, so the command saw what is on disk instead"


def test_before_a_command_what_is_the_agents_alone_is_saved_and_the_rest_is_named(
    client: RawClient, project: Path
) -> None:
    edits: list[Turn] = [
        {"calls": [call(f"e{name}", "edit_file", path=name, old_text="1", new_text="2")]}
        for name in ("a.py", "b.py")
    ]
    session = begin(client, project, *edits, CAT, CAT, DONE, options={"save": True})
    a = tell(client, project / "a.py", "x = 1\n")
    tell(client, project / "b.py", "y = 1\n# typing")
    go(client, session)
    take_edit(client, "x = 2\n")
    take_edit(client, "y = 2\n# typing")
    message = client.until(method=names.SAVE)
    (project / "a.py").write_bytes(b"x = 2\n")
    client.notify(names.DID_SAVE, **saving(a, "x = 2\n"))
    reply(client, message, result={"saved": [a], "refused": []})

    assert message["params"] == {"files": [{"uri": a, "version": 2}]}
    assert results(client)[2:] == [f"x = 2\ny = 1\n[{UNSAVED}: b.py]"] * 2


def test_what_the_user_went_on_typing_into_is_not_saved(client: RawClient, project: Path) -> None:
    edits: Turn = {"calls": [call("e1", "edit_file", path="a.py", old_text="1", new_text="2")]}
    session = begin(client, project, edits, CAT, DONE, options={"save": True})
    uri = tell(client, project / "a.py", "x = 1\n")
    go(client, session)
    take_edit(client, "x = 2\n")
    client.notify(names.DID_CHANGE, **change(uri, 3, "x = 2\nhalf a li"))

    assert results(client)[1] == f"x = 1\ny = 1\n[{UNSAVED}: a.py]"
    assert names.SAVE not in [message.get("method") for message in client.seen]


def test_a_client_that_does_not_save_gets_the_files_named(client: RawClient, project: Path) -> None:
    edits: Turn = {"calls": [call("e1", "edit_file", path="a.py", old_text="1", new_text="2")]}
    session = begin(client, project, edits, CAT, DONE)
    tell(client, project / "a.py", "x = 1\n")
    tell(client, project / "b.py", "y = 1")
    go(client, session)
    take_edit(client, "x = 2\n")

    assert results(client)[1] == f"x = 1\ny = 1\n[{UNSAVED}: a.py]"
