"""Footprints in one word each, and a log of which bodies ran when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.tooling import Footprint, ToolResult, Touch
from support.kernel import FakeTool

__all__ = ["EVERYTHING", "NOTHING", "READS_EVERYTHING", "BodyLog", "changes", "looks_at", "turns_of_the_loop"]

NOTHING = Footprint()
EVERYTHING = Footprint(extent="touchesEverything")
READS_EVERYTHING = Footprint(extent="readsEverything")


def looks_at(*paths: str, subtree: bool = False) -> Footprint:
    return Footprint(reads=_touches(paths, subtree))


def changes(*paths: str, subtree: bool = False) -> Footprint:
    return Footprint(writes=_touches(paths, subtree))


async def turns_of_the_loop(count: int) -> None:
    """Let everybody else go on for so many turns; order only, never time."""
    for _ in range(count):
        await asyncio.sleep(0)


class BodyLog:
    """Makes tools whose bodies write down when they begin and end; none hurries."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def tool(self, name: str, footprint: Footprint, *, pauses: int = 5) -> FakeTool:
        async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
            self.lines.append(f"{name} begins")
            await turns_of_the_loop(pauses)
            self.lines.append(f"{name} ends")
            return ToolResult.text(name)

        return FakeTool(name, body, footprint=footprint)

    def alone(self, name: str) -> bool:
        """Whether no other body was under way while this one was."""
        begun = self.lines.index(f"{name} begins")
        return self.lines[begun + 1] == f"{name} ends" and self._balanced(self.lines[:begun])

    @staticmethod
    def _balanced(lines: list[str]) -> bool:
        begun = {line.removesuffix(" begins") for line in lines if line.endswith(" begins")}
        return begun == {line.removesuffix(" ends") for line in lines if line.endswith(" ends")}


def _touches(paths: Iterable[str], subtree: bool) -> tuple[Touch, ...]:
    return tuple(Touch(path, subtree) for path in paths)
