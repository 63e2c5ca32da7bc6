"""A call with valid arguments, as every tool here gives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pilothouse_agent.kernel.events import Location
from pilothouse_agent.kernel.ports import PlannedFiles, ToolContext
from pilothouse_agent.kernel.tooling import Footprint, Preview, ToolError, ToolResult

__all__ = ["BoundCall"]


async def _nothing(planned: PlannedFiles) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """An `Invocation`: one that has only a title and a body touches nothing and has nothing to show."""

    title: str
    run: Callable[[ToolContext], Awaitable[ToolResult]]
    footprint: Footprint = field(default_factory=Footprint)
    locations: tuple[Location, ...] = ()
    command: str | None = None
    show: Callable[[PlannedFiles], Awaitable[Preview | None]] = _nothing

    async def preview(self, planned: PlannedFiles) -> Preview | None:
        try:
            return await self.show(planned)
        except ToolError:
            if planned.uncertain:
                # Nobody can know how the files will be by then.
                return None
            raise

    async def execute(self, context: ToolContext) -> ToolResult:
        return await self.run(context)
