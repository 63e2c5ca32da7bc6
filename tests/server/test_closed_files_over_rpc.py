"""Files that are not open, with a real server: through an editor that declares it, else on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.files.uris import path_to_uri, uri_to_path
from pilothouse_server.edits.closed_files import NOT_DECLARED
from pilothouse_server.wire import method_names as names
from support.open_documents import closing, opening, saving
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

DONE: Turn = {"text": "Done."}
PLUGIN: Json = {"save": True, "edits": {"preflight": True}}
STOCK: list[Json] = [{}, {"save": True}, {"edits": {"preflight": True}}]
EDITOR: Json = {"edits": {"closedFiles": "editor"}}
DISK: Json = {"edits": {"closedFiles": "disk"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    path = tmp_path / "project" / "a.py"
    path.write_bytes(b"x = 1\n")
    return path


def edit(old: int, new: int) -> Turn:
    return {
        "calls": [call(f"e{old}", "edit_file", path="a.py", old_text=f"x = {old}", new_text=f"x = {new}")]
    }


def begin(client: RawClient, file: Path, options: Json, *turns: Turn) -> str:
    script = file.parents[1] / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    able = {"applyEdit": True, "workspaceEdit": {"resourceOperations": ["create", "rename", "delete"]}}
    client.initialize(options=options, workspace=able)
    return client.session(file.parent, f"scripted/{script}")


def go(client: RawClient, session: str) -> None:
    client.send(request("run", names.PROMPT, sessionId=session, text="Go"))


def reply(client: RawClient, asked: Json, **result: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})


def take(client: RawClient, text: str) -> list[Json]:
    """Make the next edit, of which `text` is what becomes of its file; its steps."""
    asked = client.until(method=names.APPLY_EDIT)
    steps = asked["params"]["edit"]["documentChanges"]
    uri = steps[-1]["textDocument"]["uri"]
    if steps[0].get("kind") == "create":
        Path(uri_to_path(uri)).touch()
    client.notify(names.DID_OPEN, **opening(uri, text))
    reply(client, asked, applied=True)
    return steps


def save(client: RawClient, text: str) -> Json:
    """Do what the next request for saving asks; its params."""
    asked = client.until(method=names.SAVE)
    (saved,) = asked["params"]["files"]
    Path(uri_to_path(saved["uri"])).write_bytes(text.encode())
    client.notify(names.DID_SAVE, **saving(saved["uri"], text))
    reply(client, asked, saved=[saved["uri"]], refused=[])
    return asked["params"]


def events(client: RawClient, kind: str) -> list[Json]:
    """Those seen so far."""
    every = (message["params"] for message in client.seen if message.get("method") == "agent/event")
    return [event for event in every if event["type"] == kind]


def test_a_run_goes_through_the_editor_and_back(client: RawClient, file: Path) -> None:
    new = file.with_name("new.py")
    making: Turn = {"calls": [call("w", "write_file", path="new.py", content="y = 1\n")]}
    session = begin(client, file, PLUGIN, edit(1, 2), making, DONE)
    go(client, session)
    edited = take(client, "x = 2\n")
    saved = save(client, "x = 2\n")
    made = take(client, "y = 1\n")
    save(client, "y = 1\n")
    client.answer("run")
    changes = [(event["change"], event["via"]) for event in events(client, "file_changed")]
    after = (file.read_bytes(), new.read_bytes())
    for path in (file, new):
        client.notify(names.DID_CLOSE, **closing(path_to_uri(str(path))))
    client.send(request("undo", names.REWIND, sessionId=session))
    asked = client.until(method=names.APPLY_EDIT)
    new.unlink()
    reply(client, asked, applied=True)
    take(client, "x = 1\n")
    save(client, "x = 1\n")
    undone = client.answer("undo")["result"]

    uri = path_to_uri(str(file))
    assert edited[0]["textDocument"] == {"uri": uri, "version": None}
    assert saved == {"files": [{"uri": uri, "version": 1}]}
    assert [step.get("kind") for step in made] == ["create", None]
    assert changes == [("modify", "editor"), ("create", "editor")]
    assert after == (b"x = 2\n", b"y = 1\n")
    assert asked["params"]["edit"] == {"documentChanges": [{"kind": "delete", "uri": path_to_uri(str(new))}]}
    assert {Path(each["path"]).name: each["action"] for each in undone["files"]} == {
        "a.py": "restored",
        "new.py": "deleted",
    }
    assert (file.read_bytes(), new.exists()) == (b"x = 1\n", False)


def test_a_folder_that_was_opened_by_a_link_keeps_its_name_in_edits(client: RawClient, file: Path) -> None:
    link = file.parents[1] / "link"
    link.symlink_to(file.parent, target_is_directory=True)
    uri = path_to_uri(str(link / "a.py"))
    session = begin(client, link / "a.py", PLUGIN, edit(1, 2), DONE)
    go(client, session)
    (step,) = take(client, "x = 2\n")
    saved = save(client, "x = 2\n")
    client.answer("run")

    assert step["textDocument"] == {"uri": uri, "version": None}
    assert saved == {"files": [{"uri": uri, "version": 1}]}
    assert file.read_bytes() == b"x = 2\n"


def test_what_the_editor_refuses_is_an_error_that_the_model_reads(client: RawClient, file: Path) -> None:
    session = begin(client, file, PLUGIN, edit(1, 2), DONE)
    go(client, session)
    asked = client.until(method=names.APPLY_EDIT)
    reply(client, asked, applied=False, failureReason="it is locked")
    client.answer("run")
    (result,) = [
        event["message"]
        for event in events(client, "message_end")
        if event["message"]["role"] == "toolResult"
    ]

    assert (result["isError"], result["content"][0]["text"]) == (
        True,
        "a.py was not changed: it is locked. Nothing was done.",
    )
    assert (file.read_bytes(), events(client, "file_changed")) == (b"x = 1\n", [])


@pytest.mark.parametrize("declared", STOCK)
def test_a_client_that_does_not_declare_both_keeps_the_disk_and_the_session_says_why(
    client: RawClient, file: Path, declared: Json
) -> None:
    session = begin(client, file, {**declared, "settings": EDITOR}, edit(1, 2), edit(2, 3), DONE)
    go(client, session)
    client.answer("run")
    notices = [(event["level"], event["code"], event["message"]) for event in events(client, "notice")]

    assert notices == [("warning", "settings", NOT_DECLARED)]
    assert file.read_bytes() == b"x = 3\n"
    assert [event["via"] for event in events(client, "file_changed")] == ["disk", "disk"]


def test_without_the_wish_for_it_nothing_is_said(client: RawClient, file: Path) -> None:
    session = begin(client, file, {}, edit(1, 2), DONE)
    go(client, session)
    client.answer("run")

    assert (events(client, "notice"), file.read_bytes()) == ([], b"x = 2\n")


def test_a_wish_that_comes_later_is_answered_once(client: RawClient, file: Path) -> None:
    session = begin(client, file, {}, DONE)
    for _ in range(2):
        client.notify("workspace/didChangeConfiguration", settings={"pilothouse": EDITOR})
    go(client, session)
    client.answer("run")

    assert [event["message"] for event in events(client, "notice")] == [NOT_DECLARED]


def test_the_setting_counts_from_the_next_change_on(client: RawClient, file: Path) -> None:
    session = begin(client, file, PLUGIN, edit(1, 2), DONE, edit(2, 3), DONE)
    client.notify("workspace/didChangeConfiguration", settings={"pilothouse": DISK})
    go(client, session)
    client.answer("run")
    on_disk = (file.read_bytes(), [m for m in client.seen if m.get("method") == names.APPLY_EDIT])
    client.notify("workspace/didChangeConfiguration", settings={"pilothouse": {}})
    go(client, session)
    take(client, "x = 3\n")
    save(client, "x = 3\n")
    client.answer("run")

    assert on_disk == (b"x = 2\n", [])
    assert file.read_bytes() == b"x = 3\n"
