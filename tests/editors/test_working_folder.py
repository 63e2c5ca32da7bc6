"""Where a run works does not follow the user around."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse_server.wire import method_names as names
from support.door import Door
from support.open_documents import opening
from support.wire_models import call, scripted
from support.wire_session import soon, wire_session

pytestmark = pytest.mark.slow


@pytest.mark.covers("R065")
async def test_opening_a_file_of_another_project_in_the_middle_of_a_run_does_not_move_it(
    tmp_path: Path,
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (there / "b.py").write_bytes(b"b\n")
    door = Door(here / "door")
    turns = [
        {"calls": [call("c1", "bash", command="pwd")]},
        {"calls": [call("c2", "bash", command=door.command), call("c3", "glob_file", pattern="*")]},
        {"calls": [call("c4", "bash", command="pwd")]},
        {"text": "Done."},
    ]
    async with (
        scripted(turns, tmp_path) as (name, variables),
        wire_session(here, name, mode="all", variables=variables) as wire,
    ):
        prompt = wire.prompt("Go.")
        await wire.seen("XE c3 ok")
        wire.client.notify(names.DID_OPEN, opening((there / "b.py").as_uri(), "b\n"))
        added = [{"uri": there.as_uri(), "name": "there"}]
        wire.client.notify(names.FOLDERS_CHANGED, {"event": {"added": added, "removed": []}})
        door.open()
        await soon(prompt)

    results = {
        event["message"]["toolCallId"]: event["message"]["content"][0]["text"].strip()
        for event in wire.events
        if event["type"] == "message_end" and event["message"]["role"] == "toolResult"
    }
    assert (results["c1"], results["c4"]) == (str(here), str(here))
