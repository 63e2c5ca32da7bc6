"""What the server hears of the editor besides its documents."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from pilothouse_server.client import handshake
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.documents.workspace_folders import FoldersChange, WorkspaceFolders
from pilothouse_server.transport.rpc import METHOD_NOT_FOUND
from pilothouse_server.wire import method_names as names
from support.raw_client import RawClient

Json: TypeAlias = dict[str, Any]


@pytest.fixture
async def editor() -> EditorSide:
    folders = [{"uri": "file:///ws/one"}, {"uri": "untitled:x"}, {"uri": 1}, 2, {"uri": "file:///ws/two"}]
    return EditorSide(handshake.introduce({"workspaceFolders": folders}))


def folder_event(*, added: list[Any], removed: list[Any]) -> Json:
    return {"event": {"added": added, "removed": removed}}


@pytest.mark.covers("R058")
async def test_folders_keep_their_order_and_are_compared_by_path(editor: EditorSide) -> None:
    told: list[FoldersChange] = []
    stop = editor.folders.watch(told.append)
    one, three = {"uri": "file:///ws/%6Fne"}, {"uri": "file:///ws/100%25"}
    before = editor.folders.paths
    editor.folders.did_change(folder_event(added=[three, three], removed=[one]))
    stop()
    editor.folders.did_change(folder_event(added=[one], removed=[]))

    assert before == ("/ws/one", "/ws/two")
    assert told == [FoldersChange(removed=("/ws/one",), added=("/ws/100%",))]
    assert editor.folders.paths == ("/ws/two", "/ws/100%", "/ws/one")


@pytest.mark.covers("R260")
@pytest.mark.parametrize(
    ("named", "folders"),
    [
        ({"workspaceFolders": [{"uri": "vscode-remote://x/ws"}], "rootUri": "file:///ws"}, ("/ws",)),
        ({"workspaceFolders": [], "rootUri": "file:///ws", "rootPath": "/other"}, ("/ws",)),
        ({"workspaceFolders": None, "rootUri": None, "rootPath": "/ws"}, ("/ws",)),
        ({"rootUri": "vscode-remote://x/ws", "rootPath": "/ws"}, ("/ws",)),
        ({"workspaceFolders": [{"uri": "vscode-remote://x/ws"}], "rootUri": "zip:/a"}, ()),
        ({"rootUri": "vscode-remote://x/ws", "rootPath": "ws"}, ()),
    ],
)
async def test_the_workspace_is_the_first_place_named_that_is_on_this_machine(
    named: Json, folders: tuple[str, ...]
) -> None:
    assert handshake.introduce(named).folders == folders


async def test_without_any_folder_the_first_one_is_still_the_place_to_work() -> None:
    folders = WorkspaceFolders(["/ws/one"])
    folders.did_change(folder_event(added=[], removed=[{"uri": "file:///ws/one"}]))

    assert folders.paths == ("/ws/one",)


@pytest.mark.parametrize("params", [{}, {"event": 1}, {"event": {"added": 1, "removed": [1, {"uri": 2}]}}])
async def test_folder_changes_that_do_not_fit_change_nothing(editor: EditorSide, params: Json) -> None:
    editor.folders.did_change(params)

    assert editor.folders.paths == ("/ws/one", "/ws/two")


@pytest.mark.covers("R260")
@pytest.mark.parametrize("literal", [False, True])
async def test_kinds_of_code_actions_are_for_clients_that_know_them(literal: bool) -> None:
    support: Json = {"codeActionLiteralSupport": {}} if literal else {}
    capabilities: Json = {"textDocument": {"codeAction": support}}
    client = handshake.introduce({"capabilities": capabilities, "rootUri": "file:///"})
    provider = handshake.answer(client, "0")["capabilities"]["codeActionProvider"]

    kinds = ["quickfix", "refactor.rewrite", "source"]
    assert provider == ({"codeActionKinds": kinds} if literal else True)


@pytest.mark.slow
@pytest.mark.covers("R283")
@pytest.mark.parametrize(("name", "hears"), [("Neovim", True), ("Visual Studio Code", False)])
def test_only_neovim_is_told_of_tokens_and_asks_for_them(client: RawClient, name: str, hears: bool) -> None:
    capabilities = {"workspace": {"semanticTokens": {"refreshSupport": True}}}
    hello = client.ask(0, names.INITIALIZE, clientInfo={"name": name}, capabilities=capabilities)["result"]
    asked = client.ask(1, names.SEMANTIC_TOKENS, textDocument={"uri": "file:///ws/a"})

    assert ("semanticTokensProvider" in hello["capabilities"]) == hears
    assert asked.get("result") == ({"data": []} if hears else None)
    assert ("error" in asked) != hears


@pytest.mark.slow
def test_a_notification_sent_as_a_request_is_refused(client: RawClient) -> None:
    client.initialize()

    assert client.ask(1, names.DID_OPEN)["error"]["code"] == METHOD_NOT_FOUND
