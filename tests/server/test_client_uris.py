"""One file has one spelling towards the client: its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.client.document_uris import path_of
from pilothouse_server.documents.client_uris import ClientUris
from pilothouse_server.documents.documents import Documents
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.covers("R262")

Json: TypeAlias = dict[str, Any]


def opened(documents: Documents, uri: str, text: str = "") -> None:
    documents.did_open({"textDocument": {"uri": uri, "languageId": "", "version": 1, "text": text}})


@pytest.mark.parametrize("name", ["a%40b.txt", "a@b.txt", "a%20b.txt", "%61.txt", "caf%c3%a9.txt"])
async def test_an_open_document_has_the_uri_that_the_client_gave_it(tmp_path: Path, name: str) -> None:
    documents = Documents("utf-16")
    uri = f"{tmp_path.as_uri()}/{name}"
    opened(documents, uri)
    path = documents.all()[0].path
    assert path is not None

    assert ClientUris(documents).of(path) == uri


def test_what_is_not_open_is_named_below_its_folder_as_that_was_opened(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    uris = ClientUris(Documents("utf-16"))
    uris.learn([str(link)])

    assert uris.named(str(tmp_path / "real" / "a.txt")) == str(link / "a.txt")
    assert uris.of(str(tmp_path / "real" / "a.txt")) == (link / "a.txt").as_uri()
    assert uris.of(str(tmp_path / "really.txt")) == (tmp_path / "really.txt").as_uri()


def test_a_path_is_named_below_its_innermost_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    uris = ClientUris(Documents("utf-16"))
    uris.learn(["/", str(tmp_path / "link")])
    paths = (tmp_path / "real", tmp_path / "real" / "a" / "b", tmp_path / "realm", Path("/"))

    assert [uris.named(str(path)) for path in paths] == [
        str(tmp_path / "link"),
        str(tmp_path / "link" / "a" / "b"),
        str(tmp_path / "realm"),
        "/",
    ]


@pytest.mark.parametrize(
    ("folder", "name", "expected"),
    [
        ("file:///c%3A/ws", "a:b.txt", "file:///c%3A/ws/a%3Ab.txt"),
        ("file:///C:/ws", "a:b.txt", "file:///C:/ws/a:b.txt"),
        ("file:///my%20ws%28x%29", "a (1)+.txt", "file:///my%20ws%28x%29/a%20%281%29+.txt"),
        ("file:///my ws#1", "a b#.txt", "file:///my ws#1/a b#.txt"),
        ("file:///caf%c3%a9", "é %.txt", "file:///caf%c3%a9/%c3%a9%20%25.txt"),
        ("file:///café/", "\udcffé.txt", "file:///café/%FFé.txt"),
        ("file://localhost/ws", "a.txt", "file://localhost/ws/a.txt"),
        ("file:/ws", "a.txt", "file:/ws/a.txt"),
        ("file:///", "a+b", "file:///a+b"),
    ],
)
def test_a_file_is_spelled_as_the_folder_above_it(folder: str, name: str, expected: str) -> None:
    uris = ClientUris(Documents("utf-16"), [folder])
    path = path_of(folder)
    assert path is not None

    assert uris.of(f"{path.rstrip('/')}/{name}") == expected


async def test_what_opened_documents_escape_is_escaped_in_other_files() -> None:
    documents = Documents("utf-16")
    uris = ClientUris(documents, ["file:///ws"])
    opened(documents, "file:///ws/a%2Bb%40.txt")

    assert (uris.of("/ws/b+@.txt"), uris.of("/elsewhere/b+.txt")) == (
        "file:///ws/b%2B%40.txt",
        "file:///elsewhere/b%2B.txt",
    )


def linked(folder: Path) -> tuple[Path, str]:
    """A link to a folder, and its URI as a client spells it that escapes much."""
    (folder / "real").mkdir()
    link = folder / "my (ws)"
    link.symlink_to("real")
    return link, f"{folder.as_uri()}/my%20%28ws%29"


@pytest.mark.slow
def test_questions_events_and_undo_spell_a_file_as_its_folder_is_spelled(
    client: RawClient, tmp_path: Path
) -> None:
    link, uri = linked(tmp_path)
    script = tmp_path / "script.json"
    write: Turn = {"calls": [call("c1", "write_file", path="a (1).txt", content="x\n")]}
    script.write_text(json.dumps({"turns": [write, {"text": "Done."}]}), encoding="utf-8")
    options = {"pilothouse": {"approvals": True}}
    folders = [{"uri": uri, "name": "ws"}]
    introduction: Json = {"processId": None, "capabilities": {}, "initializationOptions": options}
    client.ask("initialize", "initialize", **introduction, workspaceFolders=folders)
    client.notify("initialized")
    created = client.ask("n", "session/new", model=f"scripted/{script}", mode="ask")
    session = created["result"]["sessionId"]
    client.send(request("p", "agent/prompt", sessionId=session, text="Go"))

    started = client.event("tool_execution_start")
    asked = client.until(method="agent/requestApproval")
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"optionId": "allow"}})
    changed = client.event("file_changed")
    ended = client.event("tool_execution_end")
    client.answer("p")
    undone = client.ask("u", "session/rewind", sessionId=session)

    expected, path = f"{uri}/a%20%281%29.txt", str(link / "a (1).txt")
    assert [each["uri"] for each in asked["params"]["diffs"]] == [expected]
    assert (changed["uri"], changed["path"]) == (expected, path)
    assert (started["locations"], ended["locations"]) == ([{"path": path}], [{"path": path, "line": 1}])
    assert [(each["uri"], each["path"]) for each in undone["result"]["files"]] == [(expected, path)]


@pytest.mark.slow
def test_a_folder_that_is_opened_later_is_spelled_as_the_client_does(
    client: RawClient, tmp_path: Path
) -> None:
    link, uri = linked(tmp_path)
    first = tmp_path / "first"
    first.mkdir()
    script = tmp_path / "script.json"
    write: Turn = {"calls": [call("c1", "write_file", path=str(link / "b (1).txt"), content="x\n")]}
    script.write_text(json.dumps({"turns": [write, {"text": "Done."}]}), encoding="utf-8")
    folders = [{"uri": first.as_uri(), "name": "first"}]
    introduction: Json = {"processId": None, "capabilities": {}, "initializationOptions": {"pilothouse": {}}}
    client.ask("initialize", "initialize", **introduction, workspaceFolders=folders)
    client.notify("initialized")
    created = client.ask("n", "session/new", model=f"scripted/{script}", mode="edits")
    added = {"added": [{"uri": uri, "name": "ws"}], "removed": []}
    client.notify("workspace/didChangeWorkspaceFolders", event=added)
    session = created["result"]["sessionId"]
    client.send(request("p", "agent/prompt", sessionId=session, text="Go"))
    changed = client.event("file_changed")

    assert (changed["uri"], changed["path"]) == (f"{uri}/b%20%281%29.txt", str(link / "b (1).txt"))


@pytest.mark.slow
def test_questions_events_and_undo_spell_a_file_alike(client: RawClient, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    script = tmp_path / "script.json"
    write: Turn = {"calls": [call("c1", "write_file", path="a@b.txt", content="x\n")]}
    script.write_text(json.dumps({"turns": [write, {"text": "Done."}]}), encoding="utf-8")
    client.initialize(options={"approvals": True})
    session = client.session(link, f"scripted/{script}", mode="ask")
    client.send(request("p", "agent/prompt", sessionId=session, text="Go"))

    asked = client.until(method="agent/requestApproval")
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"optionId": "allow"}})
    changed = client.event("file_changed")

    expected = f"{link.as_uri()}/a@b.txt"
    assert [each["uri"] for each in asked["params"]["diffs"]] == [expected]
    assert (changed["uri"], changed["path"]) == (expected, str(link / "a@b.txt"))
