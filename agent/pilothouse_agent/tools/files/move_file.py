"""The tool by which the model renames a file."""

from __future__ import annotations

from functools import partial

from pydantic import Field

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import FilePort, PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, Preview, ToolError, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
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

    def bind(self, arguments: JsonObject) -> BoundCall:
        values = validate(MoveFileArguments, arguments)
        source = locate_to_change(self._workspace, values.path)
        target = locate_to_change(self._workspace, values.new_path, argument="new_path")
        return BoundCall(
            title=f"Move {visible(source.shown)} to {visible(target.shown)}",
            footprint=Footprint(writes=(*source.own_touches, *target.own_touches)),
            locations=(Location(source.own), Location(target.own)),
            show=partial(_show, source, target),
            run=partial(self._move, source, target),
        )

    async def _move(self, source: Place, target: Place, context: ToolContext) -> ToolResult:
        await source.confirm()
        await target.confirm()
        change = await self._files.move(source.own, target.own, context)
        told = f"Moved {source.shown} to {target.shown}."
        return change_result(told, change, (), call_id=context.call_id)


async def _show(source: Place, target: Place, planned: PlannedFiles) -> Preview:
    """Without a diff: no line changes, and the title says it all."""
    if source.real == target.real:
        raise ToolError(f"{source.shown} and {target.shown} are the same file.")
    if await _is_taken(target, planned):
        raise ToolError(f"{target.shown} exists already. Choose another name, or delete it first.")
    text = None if source.is_link else await planned_text(source, planned)
    planned.put(source.own, None)
    if text is None:
        planned.mark_uncertain()
    else:
        planned.put(target.own, text)
    return Preview()


async def _is_taken(target: Place, planned: PlannedFiles) -> bool:
    try:
        return await planned.text(target.own) is not None
    except ToolError:
        return True
