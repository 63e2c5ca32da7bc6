"""The model's todo list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pilothouse_agent.kernel.events import Todo
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["TodoList"]


class TodoList:
    """State of one session; a `TodoSource` for the guard."""

    def __init__(self, todos: Sequence[Todo] = ()) -> None:
        self.todos = tuple(todos)
        """All steps as last written, for displays; also after the last one is completed."""

    def unfinished(self) -> Sequence[str]:
        return [todo.content for todo in self.todos if todo.status != "completed"]

    def write(self, todos: Sequence[Todo]) -> None:
        self.todos = tuple(todos)

    def complete(self, *, content: str | None = None, index: int | None = None) -> Todo:
        """Mark a step completed; `index` is from 1. Raises `ToolError` listing the open steps."""
        position = self._position(content) if index is None else index - 1
        if position is None or not 0 <= position < len(self.todos):
            wanted = f"step {index}" if content is None else f"step {content!r}"
            raise ToolError(f"There is no {wanted}. {self._open_steps()}")
        done = replace(self.todos[position], status="completed")
        self.todos = (*self.todos[:position], done, *self.todos[position + 1 :])
        return done

    def reminder(self) -> str:
        """What the model is told of the list; empty once nothing of it is unfinished."""
        if not self.unfinished():
            return ""
        return "\n".join(
            f"{number}. [{todo.status}] {todo.content}" for number, todo in enumerate(self.todos, start=1)
        )

    def _position(self, content: str | None) -> int | None:
        """The open step of that content, or a completed one when none is open."""
        wanted = _key(content or "")
        found = [i for i, todo in enumerate(self.todos) if _key(todo.content) == wanted]
        still_open = [i for i in found if self.todos[i].status != "completed"]
        return next(iter(still_open or found), None)

    def _open_steps(self) -> str:
        steps = [
            f"{number}. {todo.content}"
            for number, todo in enumerate(self.todos, start=1)
            if todo.status != "completed"
        ]
        if not steps:
            return "No step is open; write a list with todo_write first."
        return "The open steps are:\n" + "\n".join(steps)


def _key(content: str) -> str:
    return " ".join(content.split()).casefold()
