"""The tool by which the model deletes a file."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from pilothouse_agent.files.diff import diff_file
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import FilePort, PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, Preview, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.files.file_report import change_result, diff_of_change
from pilothouse_agent.tools.files.place import Place, locate_to_change, planned_text
from pilothouse_agent.tools.visible import visible

__all__ = ["DeleteFileTool"]


class DeleteFileArguments(Arguments):
    path: str = Field(description="The file, relative to the working folder or absolute.")


class DeleteFileTool:
    """Deletes one file; of a symbolic link the link, not what it leads to."""

    kind: ToolKind = "delete"

    def __init__(self, workspace: Workspace, files: FilePort) -> None:
        self._workspace = workspace
        self._files = files
        self.spec = ToolSpec(
            "delete_file",
            "Delete one file, or a symbolic link itself. Directories are refused.",
            schema_of(DeleteFileArguments),
        )

    def bind(self, arguments: JsonObject) -> DeleteFileInvocation:
        values = validate(DeleteFileArguments, arguments)
        return DeleteFileInvocation(self._files, locate_to_change(self._workspace, values.path))


@dataclass(frozen=True, slots=True)
class DeleteFileInvocation:
    files: FilePort
    place: Place
    command: None = None

    @property
    def title(self) -> str:
        return f"Delete {visible(self.place.shown)}"

    @property
    def footprint(self) -> Footprint:
        return Footprint(writes=self.place.own_touches)

    @property
    def locations(self) -> tuple[Location, ...]:
        return (Location(self.place.own),)

    async def preview(self, planned: PlannedFiles) -> Preview | None:
        if self.place.is_link:
            planned.put(self.place.own, None)
            return Preview()
        text = await planned_text(self.place, planned)
        planned.put(self.place.own, None)
        return Preview() if text is None else Preview((diff_file(self.place.own, text, None),))

    async def execute(self, context: ToolContext) -> ToolResult:
        await self.place.confirm()
        change = await self.files.delete(self.place.own, context)
        told = f"Deleted {self.place.shown}."
        if self.place.is_link:
            told = f"Deleted the symbolic link {self.place.shown}; what it led to is still there."
        hunks = await diff_of_change(change)
        return change_result(told, change, hunks, call_id=context.call_id)
