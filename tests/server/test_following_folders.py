"""Open sessions follow the folders of the window: what comes is theirs, what goes asks from then on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.raw_client import RawClient, notification, request
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.covers("R239")]

Json: TypeAlias = dict[str, Any]


class Window:
    """An editor's window on folders below `root`; the session writes into them, and nobody can be asked."""

    def __init__(self, client: RawClient, root: Path, *folders: str) -> None:
        self.client = client
        self.root = root
        for name in ("a", "b", "c"):
            (root / name).mkdir(exist_ok=True)
        params: Json = {"processId": None, "capabilities": {}, "initializationOptions": {"pilothouse": {}}}
        client.send(request("i", "initialize", **params, workspaceFolders=self.named(folders)))
        client.answer("i")
        client.notify("initialized")

    def named(self, folders: Sequence[str]) -> list[Json]:
        return [{"uri": (self.root / name).as_uri(), "name": name} for name in folders]

    def session(self, *runs: Turn, **params: Any) -> str:
        script = self.root / "script.json"
        turns = [turn for run in runs for turn in ({"calls": [run]}, {"text": "Done."})]
        script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
        given = {"model": f"scripted/{script}", "mode": "edits", **params}
        return self.client.ask("new", "session/new", **given)["result"]["sessionId"]

    def change(self, *, added: Sequence[str] = (), removed: Sequence[str] = ()) -> Json:
        event = {"added": self.named(added), "removed": self.named(removed)}
        return notification("workspace/didChangeWorkspaceFolders", event=event)

    def run(self, session: str, *before: Json) -> str:
        """How the call of the session's next run ends, with these messages in the packet of its prompt."""
        self.client.send(*before, request("go", "agent/prompt", sessionId=session, text="Go"))
        self.client.answer("go")
        events = [m["params"] for m in self.client.seen if m.get("method") == "agent/event"]
        return [event["outcome"] for event in events if event["type"] == "tool_execution_end"][-1]


def writing(root: Path, name: str) -> Turn:
    return call("w", "write_file", path=str(root / name), content="x")


def test_a_folder_that_comes_is_the_sessions_until_it_goes(client: RawClient, tmp_path: Path) -> None:
    window = Window(client, tmp_path, "a", "b")
    names = ["c/1", "c/2", "b/3", "c/4", "b/5", "a/6"]
    session = window.session(*(writing(tmp_path, name) for name in names))

    assert window.run(session) == "denied"
    seen = [window.run(session, window.change(added=["c"])), window.run(session)]
    seen.append(window.run(session, window.change(removed=["c"])))
    seen.append(window.run(session, window.change(removed=["b"])))
    seen.append(window.run(session))

    assert seen == ["ok", "ok", "denied", "denied", "ok"]
    assert [name for name in names if (tmp_path / name).exists()] == ["c/2", "b/3", "a/6"]


def test_the_working_folder_may_go_too_and_is_still_where_the_session_works(
    client: RawClient, tmp_path: Path
) -> None:
    window = Window(client, tmp_path, "a")
    relative = call("w", "write_file", path="1", content="x")
    session = window.session(relative, call("p", "bash", command="pwd > here"), writing(tmp_path, "a/2"))
    seen = [window.run(session, window.change(removed=["a"]))]
    client.ask("loose", "agent/prompt", sessionId=session, text="Go", mode="all")
    seen.append(window.run(session, window.change(added=["a"])))

    assert seen == ["denied", "ok"]
    assert (tmp_path / "a" / "here").read_text(encoding="utf-8").strip() == str(tmp_path / "a")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["2", "here"]


def test_what_was_allowed_for_the_session_does_not_reach_a_folder_that_has_gone(
    client: RawClient, tmp_path: Path
) -> None:
    """The permissions are made anew, and what they remember stays within the workspace."""
    window = Window(client, tmp_path, "a", "b")
    session = window.session(writing(tmp_path, "b/1"), writing(tmp_path, "b/2"))

    assert [window.run(session), window.run(session, window.change(removed=["b"]))] == ["ok", "denied"]


def test_a_session_elsewhere_does_not_follow_the_window(client: RawClient, tmp_path: Path) -> None:
    window = Window(client, tmp_path, "a")
    session = window.session(writing(tmp_path, "c/1"), writing(tmp_path, "b/2"), cwd=str(tmp_path / "b"))
    client.send(window.change(added=["c"]))
    client.ask("later", "agent/state")

    assert [window.run(session), window.run(session)] == ["denied", "ok"]


def test_the_model_is_told_of_the_folders_that_are_open(client: RawClient, tmp_path: Path) -> None:
    window = Window(client, tmp_path, "a")
    opened = f"- Also open: {tmp_path / 'c'}"
    turns: list[Turn] = [
        {"text": "One.", "expect": {"excludes": [opened]}},
        {"text": "Two.", "expect": {"contains": [opened]}},
    ]
    session = window.session()
    (tmp_path / "script.json").write_text(json.dumps({"turns": turns}), encoding="utf-8")
    texts = [client.ask(1, "agent/prompt", sessionId=session, text="Go")["result"]["text"]]
    client.send(window.change(added=["c"]))
    texts.append(client.ask(2, "agent/prompt", sessionId=session, text="Go")["result"]["text"])

    assert texts == ["One.", "Two."]
