"""`session/rewind` with a real server: through the editor, and for runs of a server that is gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_server.protocol import models as protocol
from pilothouse_server.wire import method_names as names
from support.door import Door
from support.nursery import Nursery
from support.open_documents import change, opening
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

EDITS: Turn = {
    "calls": [
        call("c1", "edit_file", path="open.py", old_text="x = 1", new_text="x = 2"),
        call("c2", "edit_file", path="closed.py", old_text="y = 1", new_text="y = 2"),
        call("c3", "write_file", path="new.py", content="z = 1\n"),
    ]
}
DONE: Turn = {"text": "Done."}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "open.py").write_bytes(b"x = 1\n")
    (folder / "closed.py").write_bytes(b"y = 1\r\n")
    return folder


def begin(client: RawClient, project: Path, *turns: Turn) -> str:
    script = project.parent / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={}, workspace={"applyEdit": True})
    return client.session(project, f"scripted/{script}")


def apply_next(client: RawClient, text: str) -> Json:
    """Answer the next edit as an editor would; `text` is what it makes of its only document."""
    asked = client.until(method=names.APPLY_EDIT)
    document = asked["params"]["edit"]["documentChanges"][0]["textDocument"]
    client.notify(names.DID_CHANGE, **change(document["uri"], document["version"] + 1, text))
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
    return asked["params"]["edit"]["documentChanges"][0]


def actions(result: Json) -> dict[str, str]:
    return {Path(file["path"]).name: file["action"] for file in result["files"]}


def test_a_run_goes_back_on_disk_and_through_the_editor(client: RawClient, project: Path) -> None:
    session = begin(client, project, EDITS, DONE, DONE)
    uri = path_to_uri(str(project / "open.py"))
    client.notify(names.DID_OPEN, **opening(uri, "x = 1\n"))
    client.send(request("run", names.PROMPT, sessionId=session, text="Go"))
    apply_next(client, "x = 2\n")
    run = client.answer("run")["result"]["runId"]
    client.send(request("undo", names.REWIND, sessionId=session))
    edit = apply_next(client, "x = 1\n")
    result = client.answer("undo")["result"]
    after = client.ask("next", names.PROMPT, sessionId=session, text="Now?")["result"]
    snapshot = client.ask("see", names.EVENTS, sessionId=session, epoch="", afterSeq=0)["result"]["snapshot"]

    assert (result["runId"], result["complete"]) == (run, True)
    assert actions(result) == {"new.py": "deleted", "closed.py": "restored", "open.py": "restored"}
    assert edit["textDocument"] == {"uri": uri, "version": 2}
    assert [path.name for path in sorted(project.iterdir())] == ["closed.py", "open.py"]
    assert ((project / "closed.py").read_bytes(), (project / "open.py").read_bytes()) == (
        b"y = 1\r\n",
        b"x = 1\n",
    )
    assert after["stopReason"] == "completed"
    told = next(message for message in snapshot["messages"] if message.get("name") == "rewind")
    assert "open.py (restored)" in told["content"][0]["text"]


def test_what_the_user_typed_since_is_offered_and_put_in_place_only_on_demand(
    client: RawClient, project: Path
) -> None:
    session = begin(client, project, {"calls": EDITS["calls"][:1]}, DONE)
    uri = path_to_uri(str(project / "open.py"))
    client.notify(names.DID_OPEN, **opening(uri, "x = 1\n\n\n"))
    client.send(request("run", names.PROMPT, sessionId=session, text="Go"))
    apply_next(client, "x = 2\n\n\n")
    client.answer("run")
    client.notify(names.DID_CHANGE, **change(uri, 3, "x = 2\n\n\nmine\n"))
    offered = client.ask("offer", names.REWIND, sessionId=session)["result"]
    client.send(request("merge", names.REWIND, sessionId=session, merge=True))
    edit = apply_next(client, "x = 1\n\n\nmine\n")
    merged = client.answer("merge")["result"]

    path = str(project / "open.py")
    assert offered["files"] == [{"path": path, "uri": uri, "action": "offered", "text": "x = 1\n\n\nmine\n"}]
    assert edit["edits"][0]["newText"] == "1"
    assert actions(merged) == {"open.py": "restored"}


def test_a_later_server_undoes_a_run_of_one_that_was_killed(
    servers: Nursery, tmp_path: Path, project: Path
) -> None:
    with servers.started(tmp_path) as first:
        session = begin(first, project, EDITS, DONE)
        run = first.ask("run", names.PROMPT, sessionId=session, text="Go")["result"]["runId"]
    with servers.started(tmp_path) as second:
        second.initialize(options={})
        result = second.ask("undo", names.REWIND, sessionId=session, runId=run)["result"]
        again = second.ask("again", names.REWIND, sessionId=session)["result"]

    assert actions(result) == {"new.py": "deleted", "closed.py": "restored", "open.py": "restored"}
    assert again == {"files": [], "complete": True}
    assert {path.name: path.read_bytes() for path in project.iterdir()} == {
        "open.py": b"x = 1\n",
        "closed.py": b"y = 1\r\n",
    }


def test_undo_is_refused_during_a_run_and_for_what_nobody_knows(client: RawClient, project: Path) -> None:
    door = Door(project / "door")
    session = begin(client, project, {"calls": [call("c1", "bash", command=door.command)]}, DONE)
    client.send(request("run", names.PROMPT, sessionId=session, text="Go"))
    client.event("tool_execution_start")
    busy = client.ask("busy", names.REWIND, sessionId=session)
    door.open()
    client.answer("run")
    nothing = client.ask("nothing", names.REWIND, sessionId=session)
    unknown = client.ask("unknown", names.REWIND, sessionId=session, runId="run_x")
    stranger = client.ask("stranger", names.REWIND, sessionId="../../etc/passwd")

    assert busy["error"]["data"] == {"kind": protocol.BUSY.kind}
    assert nothing["result"] == {"files": [], "complete": True}
    assert [violation["path"] for violation in unknown["error"]["data"]["violations"]] == ["runId"]
    assert stranger["error"]["data"] == {"kind": protocol.UNKNOWN_SESSION.kind}
