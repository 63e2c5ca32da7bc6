"""A session as it is put together: tools, prompt, and the whole way from prompt to file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.messages import TextBlock, ToolResultMessage, text_of
from pilothouse_agent.models.scripted.provider import ScriptedModel
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.create import SessionOptions, create_session
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.tool_names import TOOL_NAMES
from support.kernel import soon
from support.recorder import Recorder

SCRIPT = {
    "turns": [
        {"calls": [{"id": "c1", "name": "read_file", "arguments": {"path": "a.py"}}]},
        {
            "calls": [
                {
                    "id": "c2",
                    "name": "edit_file",
                    "arguments": {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"},
                }
            ]
        },
        {"text": "Done."},
    ]
}


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[AgentSession]:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    options = SessionOptions(
        session_id="s1",
        folders=(str(tmp_path),),
        model=f"scripted/{script}",
        mode=ApprovalMode.EDITS,
        settings=Settings(),
        environment={"PILOTHOUSE_HOME": str(tmp_path / "home")},
    )
    made, complaints = await asyncio.to_thread(
        create_session, options, provider=ScriptedModel(), queue=WriteQueue(), approver=None
    )
    assert complaints == []
    yield made
    await made.close(2)


@pytest.mark.covers("B1", "T1")
async def test_a_prompt_reads_edits_and_answers(session: AgentSession, tmp_path: Path) -> None:
    recorder = Recorder()
    session.agent.subscribe(recorder)

    result = await soon(session.prompt((TextBlock("Set x to 2"),)).result)

    assert (result.stop_reason, result.text) == ("completed", "Done.")
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "x = 2\n"
    assert [line for line in recorder.lines if line.startswith(("XS", "XE", "FC", "TE"))] == [
        "XS c1",
        "XE c1 ok",
        "TE1",
        "XS c2",
        f"FC modify {tmp_path / 'a.py'}",
        "XE c2 ok",
        "TE2",
        "TE3",
    ]


async def test_the_registered_tools_are_those_that_rules_may_name(session: AgentSession) -> None:
    assert session.agent.state.tools == TOOL_NAMES


async def test_the_system_prompt_tells_of_every_tool_and_of_the_folder(
    session: AgentSession, tmp_path: Path
) -> None:
    prompt = session.agent.state.system_prompt

    assert f"Working folder: {tmp_path}" in prompt
    assert [line for line in prompt.splitlines() if line.startswith("## ")] == [
        f"## {name}" for name in TOOL_NAMES
    ]


@pytest.mark.covers("R298", "R272")
@pytest.mark.parametrize("setting", [False, True])
async def test_what_a_tool_takes_is_told_once_unless_the_prompt_is_to_tell_it_too(
    setting: bool, tmp_path: Path
) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log"
    script.write_text(json.dumps({"turns": [{"text": "Done."}]}), encoding="utf-8")
    options = SessionOptions(
        session_id="s1",
        folders=(str(tmp_path),),
        model=f"scripted/{script}",
        mode=ApprovalMode.ALL,
        settings=Settings(tools_schemas_in_prompt=setting),
        environment={"PILOTHOUSE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]},
    )
    provider = ScriptedModel(log=log)
    made, _ = await asyncio.to_thread(
        create_session, options, provider=provider, queue=WriteQueue(), approver=None
    )
    await soon(made.prompt((TextBlock("Hi"),)).result)
    await made.close(2)
    request = json.loads(log.read_bytes())
    places = (request["system"], json.dumps(request["tools"]))
    assert ['"ignore_case"' in place for place in places] == [setting, True]


async def test_the_settings_say_how_much_of_an_output_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x1\nx2\nx3\nx4\n", encoding="utf-8")
    calls = [
        {"id": "c1", "name": "read_file", "arguments": {"path": "a"}},
        {"id": "c2", "name": "grep", "arguments": {"pattern": "x", "path": "a"}},
        {"id": "c3", "name": "bash", "arguments": {"command": "cat a"}},
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"calls": calls}, {"text": "Done."}]}), encoding="utf-8")
    options = SessionOptions(
        session_id="s1",
        folders=(str(tmp_path),),
        model=f"scripted/{script}",
        mode=ApprovalMode.ALL,
        settings=Settings(tools_output_lines=2),
        environment={"PILOTHOUSE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]},
    )
    made, _ = await asyncio.to_thread(
        create_session, options, provider=ScriptedModel(), queue=WriteQueue(), approver=None
    )
    await soon(made.prompt((TextBlock("Look."),)).result)
    await made.close(2)

    results = [message for message in made.agent.state.messages if isinstance(message, ToolResultMessage)]
    texts = [text_of(message.content) for message in results]
    assert "[2 more lines, from offset 3 on.]" in texts[0]
    assert "[more matches: the first 2 of 4 are shown" in texts[1]
    assert "[… 1 line left out" in texts[2]
