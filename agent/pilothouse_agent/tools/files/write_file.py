"""The tool by which the model creates a file or replaces a whole one."""

from __future__ import annotations

import asyncio
from functools import partial

from pydantic import Field

from pilothouse_agent.files.changed import diff_of_change
from pilothouse_agent.files.diff import diff_file
from pilothouse_agent.files.lines import count_lines, fit_line_ends
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import FileChange, FilePort, PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, Hunk, Preview, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.files.file_report import (
    NO_FINAL_NEWLINE,
    change_result,
    count_phrase,
)
from pilothouse_agent.tools.files.place import Place, locate_to_change
from pilothouse_agent.tools.visible import visible

__all__ = ["WriteFileTool"]

_DESCRIPTION = """\
Create a text file, with the folders it needs, or replace a whole one. The content is written exactly as \
given, without a newline added; a file that is replaced keeps its encoding and its line ends. A file that \
exists must have been read in full since it last changed. To change a part of a file, use edit_file."""


class WriteFileArguments(Arguments):
    path: str = Field(description="The file, relative to the working folder or absolute.")
    content: str = Field(description="The whole text of the file.")


class WriteFileTool:
    """What it replaces must be known to the model (kernel.md F3), which the file port judges."""

    kind: ToolKind = "edit"

    def __init__(self, workspace: Workspace, files: FilePort) -> None:
        self._workspace = workspace
        self._files = files
        self.spec = ToolSpec("write_file", _DESCRIPTION, schema_of(WriteFileArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        values = validate(WriteFileArguments, arguments)
        place = locate_to_change(self._workspace, values.path)
        return BoundCall(
            title=f"Write {visible(place.shown)}",
            footprint=Footprint(writes=place.touches),
            locations=(Location(place.real),),
            show=partial(_show, place, values.content),
            run=partial(self._write, place, values.content),
        )

    async def _write(self, place: Place, content: str, context: ToolContext) -> ToolResult:
        await place.confirm()
        change = await self._files.write(place.real, content, context)
        hunks = await diff_of_change(change)
        told = _told(place.shown, content, change, hunks)
        return change_result(told, change, hunks, call_id=context.call_id)


async def _show(place: Place, content: str, planned: PlannedFiles) -> Preview:
    file = await planned.text(place.real)
    old_text = file.text if file else None
    new_text = fit_line_ends(content, old_text or "")
    diff = await asyncio.to_thread(diff_file, place.real, old_text, new_text)
    planned.put(place.real, diff.new_text)
    return Preview((diff,))


def _told(name: str, content: str, change: FileChange, hunks: tuple[Hunk, ...]) -> str:
    text = change.after or ""
    if change.before == change.after:
        return f"{name} has exactly this content already; it was left as it is."
    size = f"{(count := count_lines(text))} line{'s' * (count != 1)}"
    told = f"Created {name}, {size}."
    if change.before is not None:
        told = f"Replaced {name}, now {size}: {count_phrase(hunks)}."
    if "\r\n" in text and "\r" not in content:
        told += " Its CR LF line ends were kept."
    return told if text.endswith("\n") or not text else f"{told}\n{NO_FINAL_NEWLINE}"
