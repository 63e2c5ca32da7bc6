"""The todo list as lines: whole when it is new, else how far it is."""

from __future__ import annotations

from pilothouse_cli.terminal.style import Style
from pilothouse_cli.terminal.text import one_line
from pilothouse_server.wire.json_object import Json

__all__ = ["TodoLines"]


_INDENT = "  "


class TodoLines:
    def __init__(self, style: Style) -> None:
        self._style = style
        self._contents: list[str] = []

    def update(self, todos: list[Json]) -> list[str]:
        contents = [todo["content"] for todo in todos]
        new, self._contents = contents != self._contents, contents
        return [_INDENT + self._item(todo) for todo in todos] if new else self._state(todos)

    def _state(self, todos: list[Json]) -> list[str]:
        """What is done now, and what comes next."""
        done = sum(todo["status"] == "completed" for todo in todos)
        text = f"{_INDENT}{self._style.green(self._style.sign('done'))} {done} of {len(todos)} done"
        following = next((todo for todo in todos if todo["status"] != "completed"), None)
        return [text if following is None else f"{text}  {self._item(following)}"]

    def _item(self, todo: Json) -> str:
        style, content = self._style, one_line(todo["content"])
        match todo["status"]:
            case "completed":
                return style.dim(f"{style.sign('done')} {content}")
            case "in_progress":
                return f"{style.cyan(style.sign('doing'))} {content}"
            case _:
                return f"{style.sign('open')} {content}"
