"""The tool by which the model ticks off a step of its todo list."""

from __future__ import annotations

from functools import partial

from pydantic import Field, model_validator

from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.planning.todo_write import todo_result, validate_with_list
from pilothouse_agent.tools.planning.todos import TodoList
from pilothouse_agent.tools.visible import visible

__all__ = ["CompleteStepTool"]

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

    def bind(self, arguments: JsonObject) -> BoundCall:
        step = validate_with_list(CompleteStepArguments, arguments, self._todos)
        named = step.index if step.content is None else visible(step.content)
        return BoundCall(title=f"Complete step {named}", run=partial(self._complete, step))

    async def _complete(self, named: CompleteStepArguments, context: ToolContext) -> ToolResult:
        step = self._todos.complete(content=named.content, index=named.index)
        if step.status == "completed":
            said = f"It was completed already: {step.content}.\n{self._todos.present()}\nAs before,"
            return todo_result(said, self._todos)
        return todo_result(f"Completed: {step.content}.", self._todos)
