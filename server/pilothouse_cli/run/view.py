"""Where a run is shown."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from pilothouse_cli.terminal.text import one_line
from pilothouse_server.wire.json_object import Json

__all__ = ["Json", "View", "complaint_of"]


class View(Protocol):
    def event(self, event: Json) -> Awaitable[None] | None:
        """The params of an `agent/event`. An awaitable is to be awaited before the next."""
        ...

    def result(self, result: Json) -> None:
        """The prompt's; comes once and last."""
        ...

    def stopping(self, why: str) -> None:
        """The run is being aborted."""
        ...


def complaint_of(event: Json) -> str | None:
    """What a person is told of an event even where progress is not shown."""
    if event.get("type") != "notice":
        return None
    return one_line(event["message"]) if event["level"] == "error" or event["code"] == "settings" else None
