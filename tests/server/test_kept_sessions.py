"""Sessions that outlive their process: listed, loaded, forked, renamed, exported, deleted."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.protocol import models as protocol
from pilothouse_server.wire import method_names as names
from support.door import Door
from support.nursery import Nursery
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

HELLO: Turn = {"text": "Hello.", "usage": {"input": 10, "output": 2}}
AGAIN: Turn = {"text": "Again."}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def begin(client: RawClient, project: Path, *turns: Turn, name: str = "script") -> str:
    script = project.parent / f"{name}.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={})
    return client.session(project, f"scripted/{script}")


def said(snapshot: Json) -> list[str]:
    """Role and text of each message."""
    return [
        f"{message['role']}: {''.join(block.get('text', '') for block in message['content'])}"
        for message in snapshot["messages"]
    ]


def kind(answer: Json) -> str:
    return answer["error"]["data"]["kind"]


@pytest.mark.covers("J7", "J8")
def test_a_session_of_a_killed_server_goes_on_where_it_was(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    with servers.started(tmp_path) as first:
        session = begin(first, project, HELLO, AGAIN)
        first.ask("run", names.PROMPT, sessionId=session, text="Hi there")
        first.ask("think", names.SET_THINKING, sessionId=session, thinking="high")
        first.event("session_update")
        first.signal(signal.SIGKILL)
    with servers.started(tmp_path) as second:
        second.initialize(options={})
        loaded = second.ask("load", names.SESSION_LOAD, sessionId=session)["result"]
        state = loaded["snapshot"]["state"]
        after = second.ask("next", names.PROMPT, sessionId=session, text="And now?")["result"]
        once_more = second.ask("more", names.SESSION_LOAD, sessionId=session)["result"]

    assert said(loaded["snapshot"]) == ["user: Hi there", "assistant: Hello."]
    assert (state["title"], state["mode"], state["usage"]["input"]) == ("Hi there", "all", 10)
    assert (loaded["returned"], loaded.get("runId"), after["stopReason"]) == ([], None, "completed")
    assert said(once_more["snapshot"]) == [*said(loaded["snapshot"]), "user: And now?", "assistant: Hello."]


@pytest.mark.covers("J7")
def test_a_kill_during_a_tool_leaves_a_result_for_its_call_and_the_run_can_go_on(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    door = Door(project / "door")
    with servers.started(tmp_path) as first:
        session = begin(first, project, {"calls": [call("c1", "bash", command=door.command)]}, HELLO)
        first.send(request("run", names.PROMPT, sessionId=session, text="Go"))
        first.event("tool_execution_start")
        first.send(request("later", names.FOLLOW_UP, sessionId=session, text="Then tidy up"))
        first.event("queue_update")
        first.signal(signal.SIGKILL)
    door.open()
    with servers.started(tmp_path) as second:
        second.initialize(options={})
        loaded = second.ask("load", names.SESSION_LOAD, sessionId=session, **{"continue": True})["result"]
        ended = second.event("agent_end")

    assert said(loaded["snapshot"])[:3] == [
        "user: Go",
        "assistant: ",
        "toolResult: Interrupted: the call did not finish and its outcome is unknown.",
    ]
    assert [item["content"] for item in loaded["returned"]] == [[{"type": "text", "text": "Then tidy up"}]]
    assert (ended["runId"], ended["stopReason"]) == (loaded["runId"], "completed")


@pytest.mark.covers("J6", "R143")
def test_a_session_that_another_process_has_open_is_locked_and_can_be_forked(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    with servers.started(tmp_path) as first, servers.started(tmp_path) as second:
        session = begin(first, project, HELLO)
        first.ask("run", names.PROMPT, sessionId=session, text="Mine")
        second.initialize(options={})
        listed = second.ask("list", names.SESSION_LIST)["result"]["sessions"]
        refused = [
            kind(second.ask("load", names.SESSION_LOAD, sessionId=session)),
            kind(second.ask("name", names.SESSION_RENAME, sessionId=session, title="Yours")),
            kind(second.ask("delete", names.SESSION_DELETE, sessionId=session)),
        ]
        fork = second.ask("fork", names.SESSION_FORK, sessionId=session)["result"]["sessionId"]
        forked = second.ask("open", names.SESSION_LOAD, sessionId=fork)["result"]

    assert [(entry["sessionId"], entry["state"]) for entry in listed] == [(session, "locked")]
    assert refused == [protocol.SESSION_LOCKED.kind] * 3
    assert said(forked["snapshot"]) == ["user: Mine", "assistant: Hello."]


@pytest.mark.covers("J8", "J9")
def test_two_loads_at_once_give_one_session_and_a_fork_ends_where_it_was_asked_to(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    with servers.started(tmp_path) as first:
        session = begin(first, project, HELLO, AGAIN)
        first.ask("one", names.PROMPT, sessionId=session, text="First")
        first.ask("two", names.PROMPT, sessionId=session, text="Second")
    with servers.started(tmp_path) as second:
        second.initialize(options={})
        second.send(
            request("a", names.SESSION_LOAD, sessionId=session),
            request("b", names.SESSION_LOAD, sessionId=session),
        )
        one, two = second.answer("a")["result"], second.answer("b")["result"]
        answer = one["snapshot"]["messages"][1]["id"]
        fork = second.ask("fork", names.SESSION_FORK, sessionId=session, messageId=answer)["result"]
        forked = second.ask("load", names.SESSION_LOAD, sessionId=fork["sessionId"])["result"]
        nowhere = second.ask("no", names.SESSION_FORK, sessionId=session, messageId="msg_x")

    assert (one["epoch"], said(one["snapshot"])) == (two["epoch"], said(two["snapshot"]))
    assert said(forked["snapshot"]) == ["user: First", "assistant: Hello."]
    assert [violation["path"] for violation in nowhere["error"]["data"]["violations"]] == ["messageId"]


@pytest.mark.covers("J10", "J11")
def test_a_list_has_each_folders_sessions_newest_first_and_in_pages(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    with servers.started(tmp_path) as client:
        first = begin(client, project, HELLO)
        client.ask("a", names.PROMPT, sessionId=first, text="Mend the *parser*\nplease")
        second = client.session(project, f"scripted/{project.parent / 'script.json'}")
        client.ask("b", names.PROMPT, sessionId=second, text="Write docs")
        client.ask("name", names.SESSION_RENAME, sessionId=second, title="The manual")
        everything = client.ask("all", names.SESSION_LIST, cwd=str(project))["result"]
        page = client.ask("page", names.SESSION_LIST, limit=1)["result"]
        rest = client.ask("rest", names.SESSION_LIST, limit=1, cursor=page["cursor"])["result"]
        found = client.ask("find", names.SESSION_LIST, query="PARSER")["result"]["sessions"]
        elsewhere = client.ask("other", names.SESSION_LIST, cwd=str(tmp_path))["result"]
        wrong = client.ask("wrong", names.SESSION_LIST, cursor="page two")

    titles = [(entry["sessionId"], entry["title"]) for entry in everything["sessions"]]
    assert titles == [(second, "The manual"), (first, "Mend the *parser*")]
    assert [entry["sessionId"] for entry in page["sessions"] + rest["sessions"]] == [second, first]
    assert "cursor" not in rest
    assert [(entry["sessionId"], entry["state"], entry["messages"]) for entry in found] == [
        (first, "idle", 2)
    ]
    assert elsewhere == {"sessions": []}
    assert [violation["path"] for violation in wrong["error"]["data"]["violations"]] == ["cursor"]


@pytest.mark.covers("J12")
def test_a_session_is_exported_and_deleted_with_all_that_belongs_to_it(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    write = call("c1", "write_file", path="new.py", content="x = 1\n")
    with servers.started(tmp_path) as client:
        session = begin(client, project, {"text": "Writing.", "calls": [write]}, HELLO)
        client.ask("run", names.PROMPT, sessionId=session, text="Make a file")
        text = client.ask("md", names.SESSION_EXPORT, sessionId=session, format="markdown")["result"]["text"]
        data = client.ask("json", names.SESSION_EXPORT, sessionId=session, format="json")["result"]["text"]
        deleted = client.ask("delete", names.SESSION_DELETE, sessionId=session)
        twice = client.ask("twice", names.SESSION_DELETE, sessionId=session)
        gone = client.ask("gone", names.SESSION_EXPORT, sessionId=session, format="json")

    assert [line for line in text.splitlines() if line.startswith(("#", "Writing", "<summary"))] == [
        "# Make a file",
        "## You",
        "## Pilothouse",
        "Writing.",
        "<summary>✓ write_file path=new.py content=…</summary>",
        "## Pilothouse",
    ]
    assert json.loads(data)["session"]["id"] == session
    assert (deleted["result"], twice["result"], kind(gone)) == ({}, {}, protocol.UNKNOWN_SESSION.kind)
    assert [str(path) for path in tmp_path.rglob(f"*{session}*")] == []


@pytest.mark.covers("J9")
@pytest.mark.parametrize(("files", "stands"), [("keep", True), ("undo", False)])
def test_a_conversation_goes_back_to_before_a_message_and_its_files_only_when_asked(
    servers: Nursery, tmp_path: Path, project: Path, files: str, stands: bool
) -> None:
    write = call("c1", "write_file", path="new.py", content="x = 1\n")
    with servers.started(tmp_path) as client:
        session = begin(client, project, HELLO, {"calls": [write]}, AGAIN, HELLO)
        client.ask("one", names.PROMPT, sessionId=session, text="First")
        run = client.ask("two", names.PROMPT, sessionId=session, text="Second")["result"]["runId"]
        whole = client.ask("see", names.SESSION_LOAD, sessionId=session)["result"]["snapshot"]["messages"]
        second = next(message["id"] for message in whole if message["content"][0].get("text") == "Second")
        back = client.ask("back", names.REWIND, sessionId=session, messageId=second, files=files)["result"]
        client.ask("three", names.PROMPT, sessionId=session, text="Third")
        client.signal(signal.SIGKILL)
    with servers.started(tmp_path) as later:
        later.initialize(options={})
        loaded = later.ask("load", names.SESSION_LOAD, sessionId=session)["result"]
        unknown = later.ask("no", names.REWIND, sessionId=session, messageId=second)

    ids = [message["id"] for message in whole]
    assert (back["messages"], back["runIds"]) == (ids[ids.index(second) :], [run])
    assert (project / "new.py").exists() == stands
    assert [text for text in said(loaded["snapshot"]) if not text.startswith("custom")] == [
        "user: First",
        "assistant: Hello.",
        "user: Third",
        "assistant: Hello.",
    ]
    assert [violation["path"] for violation in unknown["error"]["data"]["violations"]] == ["messageId"]


@pytest.mark.covers("J5")
def test_a_session_that_cannot_be_saved_says_so_once_and_is_saved_when_it_can_be(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    in_the_way = tmp_path / "data"
    in_the_way.write_text("no folder", encoding="utf-8")
    with servers.started(tmp_path) as client:
        session = begin(client, project, HELLO, AGAIN)
        client.ask("one", names.PROMPT, sessionId=session, text="First")
        epoch = client.ask("load", names.SESSION_LOAD, sessionId=session)["result"]["epoch"]
        troubled = client.ask("state", names.STATE, sessionId=session)["result"]["sessions"][0]
        in_the_way.unlink()
        client.ask("two", names.PROMPT, sessionId=session, text="Second")
        state = client.ask("again", names.STATE, sessionId=session)["result"]["sessions"][0]
        replayed = client.ask("see", names.EVENTS, sessionId=session, epoch=epoch, afterSeq=0)["result"]
        client.signal(signal.SIGKILL)
    with servers.started(tmp_path) as later:
        later.initialize(options={})
        loaded = later.ask("load", names.SESSION_LOAD, sessionId=session)["result"]

    told = [event["code"] for event in replayed["events"] if event["type"] == "notice"]
    assert (troubled["unsaved"], state.get("unsaved"), told) == (True, None, ["unsaved", "saved"])
    assert said(loaded["snapshot"]) == [
        "user: First",
        "assistant: Hello.",
        "user: Second",
        "assistant: Again.",
    ]


@pytest.mark.covers("J3", "J13")
@pytest.mark.parametrize("seed", range(15))
def test_whatever_a_killed_server_has_told_is_in_its_session(
    servers: Nursery, tmp_path: Path, project: Path, seed: int
) -> None:
    calls = [call(f"c{number}", "bash", command=f"echo {number}") for number in range(2)]
    turns: list[Turn] = [{"text": ["Turn ", str(number)], "calls": calls} for number in range(6)]
    with servers.started(tmp_path) as client:
        session = begin(client, project, *turns, AGAIN)
        client.send(request("run", names.PROMPT, sessionId=session, text="Go"))
        wanted = random.Random(seed).randrange(1, 60)
        told: list[str] = []
        for _ in range(wanted):
            event = client.until(method=names.EVENT)["params"]
            if event["type"] == "message_end":
                told.append(event["message"]["id"])
            if event["type"] == "agent_end":
                break
        client.signal(signal.SIGKILL)
        told += [
            message["params"]["message"]["id"]
            for message in client.rest()
            if message.get("params", {}).get("type") == "message_end"
        ]
    with servers.started(tmp_path) as later:
        later.initialize(options={})
        loaded = later.ask("load", names.SESSION_LOAD, sessionId=session)
        if not told:
            assert loaded.get("error", {}).get("data") in ({"kind": "unknownSession"}, None)
            return
        kept = [message["id"] for message in loaded["result"]["snapshot"]["messages"]]
        after = later.ask("next", names.PROMPT, sessionId=session, text="On")["result"]

    assert [message for message in told if message not in kept] == []
    assert after["stopReason"] == "completed"


@pytest.mark.covers("R142")
def test_a_conversation_does_not_go_back_across_a_damaged_line(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    with servers.started(tmp_path) as first:
        session = begin(first, project, HELLO, AGAIN)
        first.ask("one", names.PROMPT, sessionId=session, text="First")
        first.ask("two", names.PROMPT, sessionId=session, text="Second")
        first.signal(signal.SIGKILL)
    [log] = (tmp_path / "data").rglob(f"*{session}.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    answer = next(number for number, line in enumerate(lines) if b'"Again."' in line)
    log.write_bytes(b"".join([*lines[:answer], b"\x00" * 40 + b"\n", *lines[answer + 1 :]]))
    with servers.started(tmp_path) as later:
        later.initialize(options={})
        loaded = later.ask("load", names.SESSION_LOAD, sessionId=session)["result"]["snapshot"]
        start = loaded["messages"][0]["id"]
        refused = later.ask("back", names.REWIND, sessionId=session, messageId=start)
        forked = later.ask("fork", names.SESSION_FORK, sessionId=session, messageId=start)["result"]

    assert said(loaded) == ["user: First", "assistant: Hello.", "user: Second"]
    assert [violation["path"] for violation in refused["error"]["data"]["violations"]] == ["messageId"]
    assert forked["sessionId"] != session


@pytest.mark.covers("J7", "R146")
def test_a_session_whose_model_is_gone_goes_on_with_the_one_of_the_settings_and_says_so(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(
        '[providers.gone]\nformat = "openai-chat"\nbaseUrl = "http://127.0.0.1:9/v1"\n', encoding="utf-8"
    )
    with servers.started(tmp_path) as first:
        first.initialize(options={"settings": {"retry.attempts": 0}})
        session = first.session(project, "gone/m")
        first.ask("one", names.PROMPT, sessionId=session, text="First")
    settings.unlink()
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [HELLO]}), encoding="utf-8")
    with servers.started(tmp_path) as later:
        later.initialize(options={"settings": {"model": f"scripted/{script}"}})
        loaded = later.ask("load", names.SESSION_LOAD, sessionId=session)["result"]
        after = later.ask("on", names.PROMPT, sessionId=session, text="Second")["result"]

    assert loaded["snapshot"]["state"]["model"] == f"scripted/{script}"
    told = [
        each["params"]["message"] for each in later.seen if each.get("params", {}).get("type") == "notice"
    ]
    assert told == [
        f"Nobody knows the model gone/m of this session any more; it goes on with scripted/{script}."
    ]
    assert (after["stopReason"], after["text"]) == ("completed", "Hello.")
