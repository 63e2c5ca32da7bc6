"""Where a run is shown."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeAlias

__all__ = ["Json", "View"]

Json: TypeAlias = dict[str, Any]


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
