"""The tool by which the model writes its todo list."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from pydantic import Field

from pilothouse_agent.kernel.events import Todo, TodoStatus, TodoUpdate, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.limits import sendable
from pilothouse_agent.tools.planning.todos import TodoList

__all__ = ["TodoWriteTool", "todo_result", "validate_with_list"]

A = TypeVar("A", bound=Arguments)

_DESCRIPTION = "Write the list of steps of the task at hand; it replaces the list before. Empty: no list."

_GUIDANCE = """\
Write a list when a task has three or more steps, before the first of them; not for questions and small \
changes. One step is in_progress at a time. Mark a step completed with complete_step as soon as it is done \
and checked, not several at once. A step you cannot do stays unfinished: say why, or write the list anew \
without it. Do not end your turn while steps you can do are unfinished."""


class TodoItem(Arguments):
    content: str = Field(min_length=1, description="The step, as a short instruction.")
    status: TodoStatus = "pending"


class TodoWriteArguments(Arguments):
    todos: list[TodoItem]


class TodoWriteTool:
    """Writes a `TodoList`."""

    kind: ToolKind = "think"

    def __init__(self, todos: TodoList) -> None:
        self._todos = todos
        self.spec = ToolSpec("todo_write", _DESCRIPTION, schema_of(TodoWriteArguments), _GUIDANCE)

    def bind(self, arguments: JsonObject) -> BoundCall:
        items = validate_with_list(TodoWriteArguments, arguments, self._todos).todos
        todos = tuple(Todo(item.content, item.status) for item in items)
        return BoundCall(title=f"Write {len(todos)} todos", run=partial(self._write, todos))

    async def _write(self, todos: tuple[Todo, ...], context: ToolContext) -> ToolResult:
        self._todos.write(todos)
        return todo_result("The list is written.", self._todos)


def validate_with_list(model: type[A], arguments: JsonObject, todos: TodoList) -> A:
    """As `validate`; what is wrong is told together with the list as it stays."""
    try:
        return validate(model, arguments)
    except InvalidArguments as error:
        raise InvalidArguments(error.violations, todos.present()) from None


def todo_result(done: str, todos: TodoList) -> ToolResult:
    """`done` and how the list stands now, all of it where something is odd, with the event that shows it."""
    unfinished = len(todos.unfinished())
    state = (
        f"{unfinished} of {len(todos.todos)} steps are unfinished."
        if unfinished
        else "Nothing is unfinished."
    )
    text = f"{done} {state}"
    if oddities := todos.oddities():
        text = "\n".join([text, *oddities, todos.present()])
    return ToolResult((TextBlock(sendable(text)),), effects=(TodoUpdate(todos.todos),))
