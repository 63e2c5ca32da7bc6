"""A tool added in one file: this one. Nothing but the session that gets it is told of it."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

from pydantic import Field

from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import TextBlock, ToolResultMessage, text_of
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_agent.models.scripted.provider import ScriptedModel
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.layers import Layer, PermissionSource
from pilothouse_agent.session.create import SessionOptions, create_session
from pilothouse_agent.session.extras import Extras
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from support.kernel import soon


class CountWordsArguments(Arguments):
    text: str = Field(description="What is counted.")


class CountWordsTool:
    kind: ToolKind = "think"

    def __init__(self) -> None:
        self.spec = ToolSpec("count_words", "Count the words of a text.", schema_of(CountWordsArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        text = validate(CountWordsArguments, arguments).text
        return BoundCall(title=f"Count {text}", run=partial(self._count, text))

    async def _count(self, text: str, context: ToolContext) -> ToolResult:
        return ToolResult.text(f"{len(text.split())} words")


async def results(folder: Path, rules: JsonObject) -> list[str]:
    """What the model is told of a good call and of one that does not fit."""
    calls = [
        {"id": "c1", "name": "count_words", "arguments": {"text": "one two three"}},
        {"id": "c2", "name": "count_words", "arguments": {"texts": ""}},
    ]
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": [{"calls": calls}, {"text": "Done."}]}), encoding="utf-8")
    options = SessionOptions(
        session_id="s1",
        folders=(str(folder),),
        model=f"scripted/{script}",
        mode=ApprovalMode.ASK,
        settings=Settings(permissions=(PermissionSource(Layer.USER, rules),)),
        environment={"PILOTHOUSE_HOME": str(folder / "home")},
    )
    session, complaints = await asyncio.to_thread(
        partial(create_session, options, provider=ScriptedModel(), queue=WriteQueue(), approver=None),
        extras=lambda _: Extras(tools=(CountWordsTool(),)),
    )
    assert complaints == []
    await soon(session.prompt((TextBlock("Count."),)).result)
    await session.close(2)
    said = [each for each in session.agent.state.messages if isinstance(each, ToolResultMessage)]
    return [text_of(message.content) for message in said]


async def test_a_tool_of_one_file_is_called_checked_and_told(tmp_path: Path) -> None:
    assert await results(tmp_path, {}) == [
        "3 words",
        "The arguments do not fit count_words, which did not run:\n"
        "- text: Field required\n"
        "- texts: Extra inputs are not permitted",
    ]


async def test_a_rule_may_name_it(tmp_path: Path) -> None:
    counted, _ = await results(tmp_path, {"tools": {"count_words": "deny"}})
    assert counted == (
        "Denied: the user rule for the tool `count_words` forbids it. Do not try the same in another form; "
        "go on without it, or tell the user what would be needed."
    )
