"""The tools a session offers to its model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pilothouse_agent.kernel.ports import Tool
from pilothouse_agent.kernel.request import ToolSpec

__all__ = ["ToolRegistry"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class ToolRegistry:
    """Tools in the order they were registered, found by name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Raises `ValueError` for a name that is taken or that a provider would refuse."""
        name = tool.spec.name
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"The tool name {name!r} is not legal: a letter, then up to 63 letters, digits, _ or -."
            )
        if name in self._tools:
            raise ValueError(f"There are two tools named {name!r}. Names must differ.")
        self._tools[name] = tool

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
