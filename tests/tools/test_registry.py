"""The registry of tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import Invocation
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.tools.planning.complete_step import CompleteStepTool
from pilothouse_agent.tools.planning.todo_write import TodoWriteTool
from pilothouse_agent.tools.planning.todos import TodoList
from pilothouse_agent.tools.registry import ToolRegistry
from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_agent.tools.search.grep import GrepTool
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.shell.background import BackgroundProcesses
from pilothouse_agent.tools.shell.bash import BashTool
from pilothouse_agent.tools.shell.running import Shell


@dataclass
class Named:
    """A tool with nothing but a name."""

    name: str
    kind: ToolKind = "other"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, "", {})

    def bind(self, arguments: JsonObject) -> Invocation:
        raise NotImplementedError


def test_tools_are_listed_in_the_order_they_came_and_found_by_name() -> None:
    zoom, add, last = Named("zoom"), Named("add"), Named("last")
    registry = ToolRegistry([zoom, add])
    registry.register(last)

    assert [spec.name for spec in registry.specs()] == ["zoom", "add", "last"]
    assert (list(registry), len(registry)) == ([zoom, add, last], 3)
    assert (registry.get("add"), registry.get("none")) == (add, None)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^There are two tools named 'add'\. Names must differ\.$"):
        ToolRegistry([Named("add"), Named("add")])


@pytest.mark.parametrize("name", ["", "two words", "dot.ted", "1st", "grün", "x" * 65, "line\n"])
def test_a_name_that_a_provider_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not legal"):
        ToolRegistry([Named(name)])


def test_the_arguments_are_named_as_published(tmp_path: Path) -> None:
    workspace, ripgrep, shell = Workspace([tmp_path]), Ripgrep({}), Shell(str(tmp_path), {})
    registry = ToolRegistry(
        [
            GlobFileTool(workspace, ripgrep),
            GrepTool(workspace, ripgrep),
            BashTool(shell, BackgroundProcesses(shell, tmp_path), tmp_path),
            TodoWriteTool(TodoList()),
            CompleteStepTool(TodoList()),
        ]
    )

    assert {
        spec.name: list(cast("JsonObject", spec.parameters["properties"])) for spec in registry.specs()
    } == {
        "glob_file": ["pattern", "path", "limit"],
        "grep": ["pattern", "path", "glob", "ignore_case", "literal", "context", "limit"],
        "bash": ["command", "timeout", "description", "background"],
        "todo_write": ["todos"],
        "complete_step": ["content", "index"],
    }
