"""A background command that ends between two prompts is told to the model with the second."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.messages import CustomMessage, TextBlock, ToolResultMessage, text_of
from pilothouse_agent.models.scripted.provider import ScriptedModel
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.create import SessionOptions, create_session
from pilothouse_agent.settings.settings import Settings
from support.kernel import soon

SERVER = {"command": "until [ -e go ]; do sleep 0.01; done; exit 3", "background": True}
WAIT = {"command": 'touch go; until tail -n 1 "$(cat log)" | grep "^.exit code 3"; do sleep 0.01; done'}


def session_in(folder: Path, turns: list[object]) -> AgentSession:
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    options = SessionOptions(
        session_id="s1",
        folders=(str(folder),),
        model=f"scripted/{script}",
        mode=ApprovalMode.ALL,
        settings=Settings(),
        environment={"PILOTHOUSE_HOME": str(folder / "home"), "PATH": os.environ["PATH"]},
    )
    made, _ = create_session(options, provider=ScriptedModel(), queue=WriteQueue(), approver=None)
    return made


@pytest.mark.slow
@pytest.mark.covers("R243")
async def test_its_end_is_told_at_the_next_turn(tmp_path: Path) -> None:
    starts = {"calls": [{"id": "c1", "name": "bash", "arguments": SERVER}]}
    waits = {"calls": [{"id": "c2", "name": "bash", "arguments": WAIT}]}
    turns: list[object] = [starts, {"text": "Started."}, waits, {"text": "It has ended."}]
    session = await asyncio.to_thread(session_in, tmp_path, turns)

    await soon(session.prompt((TextBlock("Start it."),)).result)
    (result,) = [each for each in session.agent.state.messages if isinstance(each, ToolResultMessage)]
    found = re.search(r"process id (\d+);.*Its output goes to (\S+)\. ", text_of(result.content))
    assert found is not None
    await asyncio.to_thread((tmp_path / "log").write_text, found[2])
    await soon(session.prompt((TextBlock("Go on."),)).result)
    await session.close(2)

    told = [each for each in session.agent.state.messages if isinstance(each, CustomMessage)]
    assert [(each.name, text_of(each.content)) for each in told] == [
        (
            "background",
            f"The background command with process id {found[1]} ({SERVER['command']}) has ended: "
            f"exit code 3. Its output is in {found[2]}.",
        )
    ]
