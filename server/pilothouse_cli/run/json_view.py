"""A run as lines of JSON, for programs."""

from __future__ import annotations

from collections.abc import Awaitable

import orjson

from pilothouse_agent.kernel.json_lines import inert
from pilothouse_cli.run.output import Output
from pilothouse_cli.run.view import Json, complaint_of
from pilothouse_cli.terminal.screen import Screen
from pilothouse_cli.terminal.text import one_line

__all__ = ["JsonView"]


class JsonView:
    """Every event and at last the result go to `out`; only what went wrong goes to the screen."""

    def __init__(self, out: Output, screen: Screen) -> None:
        self._out = out
        self._screen = screen

    def event(self, event: Json) -> Awaitable[None] | None:
        self._out.write_bytes(_line(event))
        if complaint := complaint_of(event):
            self._screen.line(f"pilothouse: {complaint}")
        return self._out.room() if self._out.full else None

    def result(self, result: Json) -> None:
        self._out.write_bytes(_line({"type": "result", **result}))
        if error := result.get("error"):
            self._screen.line(f"pilothouse: {one_line(error['message'])}")

    def stopping(self, why: str) -> None:
        self._screen.line(f"pilothouse: {why}")


def _line(value: Json) -> bytes:
    return inert(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
