"""The tool by which the model changes places of a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, cast

from pydantic import Field, model_validator

from pilothouse_agent.files.diff import diff_file, diff_texts
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import FilePort, FileText, PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, Hunk, Preview, ToolError, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.files.file_report import change_result, count_phrase, excerpts, excerpts_text
from pilothouse_agent.tools.files.matching import Edit, apply_edits
from pilothouse_agent.tools.files.place import Place, locate_to_change
from pilothouse_agent.tools.visible import visible

__all__ = ["EditFileTool"]

_DESCRIPTION = """\
Change places of an existing text file. Each edit replaces old_text, which must be found exactly once (or \
set replace_all), by new_text. All edits of a call are matched against the file as it is before the call; \
all are made or none."""

_GUIDANCE = """\
Copy old_text from what read_file or the last edit showed, with its blanks and tabs, and only as many lines \
as make it unique. Put several changes of one file into one call. To insert, repeat a line that is there in \
new_text. An edit that is refused changed nothing: look at the text again rather than write the whole file."""


_Edited: TypeAlias = Callable[[str], str]
"""The text of the file after the edits. Raises `ToolError`."""


class EditItem(Arguments):
    old_text: str = Field(description="Text to be replaced, exactly as it stands in the file.")
    new_text: str = Field(description="Text to stand there instead.")
    replace_all: bool = Field(default=False, description="Replace every place where old_text stands.")


class EditFileArguments(Arguments):
    path: str = Field(description="The file, relative to the working folder or absolute.")
    edits: list[EditItem] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _accept_one_edit(cls, value: Any) -> Any:
        """One edit may stand flat beside the path, or without a list around it."""
        if not isinstance(value, dict):
            return value
        items = dict(cast("dict[str, Any]", value))
        flat = {name: items.pop(name) for name in EditItem.model_fields if items.get(name) is not None}
        if flat and items.get("edits"):
            raise ValueError("give either edits, or old_text and new_text beside path")
        if flat:
            items["edits"] = [flat]
        elif isinstance(items.get("edits"), dict):
            items["edits"] = [items["edits"]]
        return items


class EditFileTool:
    """Matches on the newest text in the file's queue turn, so it needs no read before (kernel.md F2, F3)."""

    kind: ToolKind = "edit"

    def __init__(self, workspace: Workspace, files: FilePort) -> None:
        self._workspace = workspace
        self._files = files
        self.spec = ToolSpec("edit_file", _DESCRIPTION, schema_of(EditFileArguments), _GUIDANCE)

    def bind(self, arguments: JsonObject) -> BoundCall:
        values = validate(EditFileArguments, arguments)
        place = locate_to_change(self._workspace, values.path)
        edits = tuple(Edit(item.old_text, item.new_text, item.replace_all) for item in values.edits)
        edited = partial(apply_edits, edits=edits, name=place.shown)
        return BoundCall(
            title=f"Edit {visible(place.shown)}",
            footprint=Footprint(writes=place.touches),
            locations=(Location(place.real),),
            show=partial(_show, place, edited),
            run=partial(self._edit, place, edited),
        )

    async def _edit(self, place: Place, edited: _Edited, context: ToolContext) -> ToolResult:
        hunks: tuple[Hunk, ...] = ()

        def change(file: FileText | None) -> str:
            nonlocal hunks
            place.check()
            old_text = file.text if file else ""
            new_text = edited(old_text)
            hunks = diff_texts(old_text, new_text)
            return new_text

        done = await self._files.edit(place.real, change, context)
        shown = excerpts(hunks)
        now = FileText(done.path, done.after or "", "utf-8")
        for first, last, _ in shown:
            self._files.note_read(now, first, last)
        text = f"Edited {place.shown}: {count_phrase(hunks)}.\n{excerpts_text(shown, hunks)}"
        return change_result(text, done, hunks, call_id=context.call_id)


async def _show(place: Place, edited: _Edited, planned: PlannedFiles) -> Preview:
    file = await planned.text(place.real)
    if file is None:
        raise ToolError(f"{place.shown} does not exist. Create it with write_file.")
    diff = await asyncio.to_thread(lambda: diff_file(file.path, file.text, edited(file.text)))
    planned.put(place.real, diff.new_text)
    return Preview((diff,))
