"""The tool by which the model renames a file."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import FilePort, PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, Preview, ToolError, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.files.file_report import change_result
from pilothouse_agent.tools.files.place import Place, locate_to_change, planned_text
from pilothouse_agent.tools.visible import visible

__all__ = ["MoveFileTool"]


class MoveFileArguments(Arguments):
    path: str = Field(description="The file, relative to the working folder or absolute.")
    new_path: str = Field(description="Its whole new name; nothing may be there yet.")


class MoveFileTool:
    """Moves one file, never over another; of a symbolic link the link, not what it leads to."""

    kind: ToolKind = "move"

    def __init__(self, workspace: Workspace, files: FilePort) -> None:
        self._workspace = workspace
        self._files = files
        self.spec = ToolSpec(
            "move_file",
            "Rename or move one file, or a symbolic link itself; folders are made as needed. Never over an "
            "existing file. Directories are refused.",
            schema_of(MoveFileArguments),
        )

    def bind(self, arguments: JsonObject) -> MoveFileInvocation:
        values = validate(MoveFileArguments, arguments)
        return MoveFileInvocation(
            self._files,
            locate_to_change(self._workspace, values.path),
            locate_to_change(self._workspace, values.new_path, argument="new_path"),
        )


@dataclass(frozen=True, slots=True)
class MoveFileInvocation:
    files: FilePort
    source: Place
    target: Place
    command: None = None

    @property
    def title(self) -> str:
        return f"Move {visible(self.source.shown)} to {visible(self.target.shown)}"

    @property
    def footprint(self) -> Footprint:
        return Footprint(writes=(*self.source.own_touches, *self.target.own_touches))

    @property
    def locations(self) -> tuple[Location, ...]:
        return (Location(self.source.own), Location(self.target.own))

    async def preview(self, planned: PlannedFiles) -> Preview | None:
        """Without a diff: no line changes, and the title says it all."""
        try:
            await self._plan(planned)
        except ToolError:
            if planned.uncertain:
                return None
            raise
        return Preview()

    async def execute(self, context: ToolContext) -> ToolResult:
        await self.source.confirm()
        await self.target.confirm()
        change = await self.files.move(self.source.own, self.target.own, context)
        told = f"Moved {self.source.shown} to {self.target.shown}."
        return change_result(told, change, (), call_id=context.call_id)

    async def _plan(self, planned: PlannedFiles) -> None:
        if self.source.real == self.target.real:
            raise ToolError(f"{self.source.shown} and {self.target.shown} are the same file.")
        if await self._is_taken(planned):
            raise ToolError(f"{self.target.shown} exists already. Choose another name, or delete it first.")
        text = None if self.source.is_link else await planned_text(self.source, planned)
        planned.put(self.source.own, None)
        if text is None:
            planned.mark_uncertain()
        else:
            planned.put(self.target.own, text)

    async def _is_taken(self, planned: PlannedFiles) -> bool:
        try:
            return await planned.text(self.target.own) is not None
        except ToolError:
            return True
