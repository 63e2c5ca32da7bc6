"""The tool by which the model deletes a file."""

from __future__ import annotations

from functools import partial

from pydantic import Field

from pilothouse_agent.files.changed import diff_of_change
from pilothouse_agent.files.diff import diff_file
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import FilePort, PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, Preview, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.files.file_report import change_result
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

    def bind(self, arguments: JsonObject) -> BoundCall:
        place = locate_to_change(self._workspace, validate(DeleteFileArguments, arguments).path)
        return BoundCall(
            title=f"Delete {visible(place.shown)}",
            footprint=Footprint(writes=place.own_touches),
            locations=(Location(place.own),),
            show=partial(_show, place),
            run=partial(self._delete, place),
        )

    async def _delete(self, place: Place, context: ToolContext) -> ToolResult:
        await place.confirm()
        change = await self._files.delete(place.own, context)
        told = f"Deleted {place.shown}."
        if place.is_link:
            told = f"Deleted the symbolic link {place.shown}; what it led to is still there."
        hunks = await diff_of_change(change)
        return change_result(told, change, hunks, call_id=context.call_id)


async def _show(place: Place, planned: PlannedFiles) -> Preview:
    text = None if place.is_link else await planned_text(place, planned)
    planned.put(place.own, None)
    return Preview() if text is None else Preview((diff_file(place.own, text, None),))
