"""The model's todo list."""

from __future__ import annotations

from collections import Counter
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
        """Mark a step completed and give it as it was; `index` is from 1.

        Raises `ToolError` listing the open steps.
        """
        position = self._position(content) if index is None else index - 1
        if position is None or not 0 <= position < len(self.todos):
            wanted = f"step {index}" if content is None else f"step {content!r}"
            raise ToolError(f"There is no {wanted}. {self._open_steps()}")
        step = self.todos[position]
        done = replace(step, status="completed")
        self.todos = (*self.todos[:position], done, *self.todos[position + 1 :])
        return step

    def shown(self) -> str:
        """The present list, numbered."""
        lines = [
            f"{number}. [{todo.status}] {todo.content}" for number, todo in enumerate(self.todos, start=1)
        ]
        return "\n".join(lines)

    def present(self) -> str:
        """What an error about the list shows of it."""
        return f"The list is now:\n{self.shown()}" if self.todos else "There is no list now."

    def oddities(self) -> list[str]:
        """What is not as a list should be, in sentences."""
        said: list[str] = []
        working = sum(todo.status == "in_progress" for todo in self.todos)
        if working > 1:
            said.append(f"{working} steps are in progress; work on one at a time.")
        still_open = Counter(_key(todo.content) for todo in self.todos if todo.status != "completed")
        if any(count > 1 for count in still_open.values()):
            said.append("Some open steps have the same content; name them by number.")
        return said

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
            done = f"\n{self.present()}" if self.todos else ""
            return f"No step is open; write a list with todo_write first.{done}"
        return "The open steps are:\n" + "\n".join(steps)


def _key(content: str) -> str:
    return " ".join(content.split()).casefold()
