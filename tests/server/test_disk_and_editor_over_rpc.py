"""What a client declares and what is on disk beside it, with a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.wire import method_names as names
from support.open_documents import change, opening
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

DONE: Turn = {"text": "Done."}
REWRITE: Turn = {"calls": [call("c1", "bash", command="printf 'x = 2\\n' > a.py")]}
EDIT: Turn = {"calls": [call("c1", "edit_file", path="a.py", old_text="x = 1", new_text="x = 2")]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    path = tmp_path / "project" / "a.py"
    path.write_bytes(b"x = 1\n")
    return path


def begin(client: RawClient, file: Path, turn: Turn, options: Json) -> None:
    """A run that takes this turn, while the file is open as it is on disk."""
    script = file.parents[1] / "script.json"
    script.write_text(json.dumps({"turns": [turn, DONE]}), encoding="utf-8")
    client.initialize(options=options, workspace={"applyEdit": True})
    client.notify(names.DID_OPEN, **opening(file.as_uri(), "x = 1\n"))
    session = client.session(file.parent, f"scripted/{script}")
    client.send(request("p", names.PROMPT, sessionId=session, text="Go"))


def result(client: RawClient) -> str:
    """The text that the model got of its call, after the run."""
    client.answer("p")
    messages = [each["params"]["message"] for each in client.seen if _ends(each)]
    return "".join(block["text"] for each in messages for block in each["content"])


def _ends(message: Json) -> bool:
    params = message.get("params", {})
    return params.get("type") == "message_end" and params["message"]["role"] == "toolResult"


@pytest.mark.covers("R209")
def test_the_end_of_a_command_names_the_documents_that_it_overtook(client: RawClient, file: Path) -> None:
    begin(client, file, REWRITE, {})

    assert result(client) == (
        "(no output)\n"
        "[changed on disk, while the editor still shows the text from before: a.py. Ask the user to reload "
        "that before it is edited]\n"
    )


@pytest.mark.covers("R209")
def test_a_client_that_reloads_is_asked_to_after_a_command(client: RawClient, file: Path) -> None:
    begin(client, file, REWRITE, {"reload": True})
    asked = client.until(method=names.RELOAD)
    client.notify(names.DID_CHANGE, **change(file.as_uri(), 2, "x = 2\n"))
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"reloaded": asked["params"]["uris"]}})

    assert asked["params"] == {"uris": [file.as_uri()]}
    assert "changed on disk" not in result(client)


@pytest.mark.covers("R260")
def test_a_plugin_that_says_nothing_of_versions_gets_edits_with_them(client: RawClient, file: Path) -> None:
    begin(client, file, EDIT, {})
    asked = client.until(method=names.APPLY_EDIT)
    client.notify(names.DID_CHANGE, **change(file.as_uri(), 2, "x = 2\n"))
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
    client.answer("p")

    span = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}}
    assert asked["params"]["edit"] == {
        "documentChanges": [
            {
                "textDocument": {"uri": file.as_uri(), "version": 1},
                "edits": [{"range": span, "newText": "2"}],
            }
        ]
    }


@pytest.mark.covers("R260")
@pytest.mark.parametrize(
    "named",
    [
        {"workspaceFolders": [{"uri": "vscode-remote://ssh-remote%2Bhost/ws", "name": "ws"}]},
        {"workspaceFolders": [], "rootUri": "jar:file:///a.jar!/ws"},
        {"workspaceFolders": None, "rootUri": "untitled:ws", "rootPath": "ws"},
    ],
)
def test_work_without_a_folder_of_this_machine_is_refused_with_words(client: RawClient, named: Json) -> None:
    client.ask("i", "initialize", processId=None, capabilities={}, **named)
    client.notify("initialized")
    refused = client.ask("n", names.SESSION_NEW, model="scripted/none.json")

    said = "no folder that is open is on this machine; say where to work"
    assert refused["error"]["data"]["violations"] == [{"path": "cwd", "message": said}]
