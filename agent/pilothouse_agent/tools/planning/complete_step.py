"""The tool by which the model ticks off a step of its todo list."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field, model_validator

from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of
from pilothouse_agent.tools.planning.todo_write import todo_result, validate_with_list
from pilothouse_agent.tools.planning.todos import TodoList
from pilothouse_agent.tools.visible import visible

__all__ = ["CompleteStepTool"]

_NOTHING = Footprint()

_DESCRIPTION = "Mark one step of the todo list as completed, named by its content or its number."


class CompleteStepArguments(Arguments):
    content: str | None = Field(default=None, description="The step as it was written.")
    index: int | None = Field(default=None, ge=1, description="Its number in the list, from 1.")

    @model_validator(mode="after")
    def _names_one(self) -> CompleteStepArguments:
        if (self.content is None) == (self.index is None):
            raise ValueError("give either content or index")
        return self


class CompleteStepTool:
    """Completes steps of a `TodoList`."""

    kind: ToolKind = "think"

    def __init__(self, todos: TodoList) -> None:
        self._todos = todos
        self.spec = ToolSpec("complete_step", _DESCRIPTION, schema_of(CompleteStepArguments))

    def bind(self, arguments: JsonObject) -> CompleteStepInvocation:
        step = validate_with_list(CompleteStepArguments, arguments, self._todos)
        return CompleteStepInvocation(self._todos, step.content, step.index)


@dataclass(frozen=True, slots=True)
class CompleteStepInvocation:
    """A step to be completed."""

    list: TodoList
    content: str | None
    index: int | None
    footprint: Footprint = _NOTHING
    locations: tuple[Location, ...] = ()
    command: None = None

    @property
    def title(self) -> str:
        return f"Complete step {self.index if self.content is None else visible(self.content)}"

    async def preview(self, planned: PlannedFiles) -> None:
        return None

    async def execute(self, context: ToolContext) -> ToolResult:
        step = self.list.complete(content=self.content, index=self.index)
        if step.status == "completed":
            said = f"It was completed already: {step.content}.\n{self.list.present()}\nAs before,"
            return todo_result(said, self.list)
        return todo_result(f"Completed: {step.content}.", self.list)
