"""The tool by which the model reads a file, in a form that can be copied into an edit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from pydantic import Field, field_validator

from pilothouse_agent.files.disk_threads import in_thread
from pilothouse_agent.files.lines import count_lines, line_end_of, start_of_line
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.ports import FilePart, FilePort, FileText, ToolContext
from pilothouse_agent.kernel.request import ImageLimits, ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, ToolError, ToolResult, Touch
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.files.images import Image, find_image
from pilothouse_agent.tools.files.place import Place, locate_to_read
from pilothouse_agent.tools.limits import MAX_LINES, Cut, head_of, sendable
from pilothouse_agent.tools.shell.output import OutputLimits
from pilothouse_agent.tools.visible import visible

__all__ = ["ReadFileTool"]

_DESCRIPTION = """\
Read a text file, or look at an image (PNG, JPEG, GIF, WebP). The text is given exactly as it stands, at \
most {lines} lines or {kib} KiB at once; offset and limit give other parts, of files of any size. Lines in \
square brackets before and after it are notes, not text of the file."""


class ReadFileArguments(Arguments):
    path: str = Field(description="The file, relative to the working folder or absolute.")
    offset: int = Field(
        default=1, description="First line, from 1; negative: counted from the end, -1 is the last line."
    )
    limit: int = Field(default=MAX_LINES, ge=1, description="Number of lines.")

    @field_validator("offset")
    @classmethod
    def _refuse_zero(cls, value: int) -> int:
        if value == 0:
            raise ValueError("lines are counted from 1, or from the end by negative numbers")
        return value


class ReadFileTool:
    """Reads through the file port, so also what an editor has not saved yet."""

    kind: ToolKind = "read"

    def __init__(
        self,
        workspace: Workspace,
        files: FilePort,
        *,
        limits: OutputLimits | None = None,
        images: Callable[[], ImageLimits] = ImageLimits,
    ) -> None:
        """`images` tells what the model takes at the moment."""
        self._images = images
        self._workspace = workspace
        self._files = files
        self._limits = limits or OutputLimits()
        told = _DESCRIPTION.format(lines=self._limits.lines, kib=self._limits.size // 1024)
        self.spec = ToolSpec("read_file", told, schema_of(ReadFileArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        values = validate(ReadFileArguments, arguments)
        place, taken = locate_to_read(self._workspace, values.path)
        most = replace(self._limits, lines=min(values.limit, self._limits.lines))
        reading = _Reading(self._files, place, values.offset, most, self._images, taken)
        return BoundCall(
            title=f"Read {visible(place.shown)}",
            footprint=Footprint(reads=(Touch(place.real),)),
            locations=(Location(place.real, max(values.offset, 1)),),
            run=reading.run,
        )


@dataclass(frozen=True, slots=True)
class _Reading:
    files: FilePort
    place: Place
    offset: int
    limits: OutputLimits
    images: Callable[[], ImageLimits]
    taken: str
    """Said of a file that was taken for the one asked for."""

    async def run(self, context: ToolContext) -> ToolResult:
        result = await self._read()
        if not self.taken:
            return result
        return replace(result, content=(TextBlock(f"[{self.taken}]\n"), *result.content))

    async def _read(self) -> ToolResult:
        await self.place.confirm()
        try:
            part = await self.files.read_part(self.place.real, self.offset, self.limits.size)
            if part is not None:
                return self._part_result(part)
            file = await self.files.read(self.place.real)
        except ToolError:
            image = await self._image()
            if image is None:
                raise
            return ToolResult((TextBlock(f"[{self.place.shown}, {image.told}]"), image.block))
        return self._excerpt(file)

    async def _image(self) -> Image | None:
        return await in_thread(partial(find_image, self.place.real, self.images(), shown=self.place.shown))

    def _excerpt(self, file: FileText) -> ToolResult:
        total = count_lines(file.text)
        first = self.offset if self.offset > 0 else max(total + self.offset + 1, 1)
        if first > max(total, 1):
            raise ToolError(f"{self.place.shown} has {total} lines, so none with the number {first}.")
        start = start_of_line(file.text, first)
        # One character more than may be shown tells that there is more.
        cut = self._head(file.text[start : start + self.limits.size + 1])
        last = first + cut.lines - 1
        self.files.note_read(file, first, last)
        shown = sendable(cut.text)
        notes = [*filter(None, [file.note]), *_notes(cut, shown, last, total)]
        return ToolResult.text(
            _header(self.place.shown, file, first, last, total) + shown + _footer(shown, notes)
        )

    def _part_result(self, part: FilePart) -> ToolResult:
        cut = self._head(part.text)
        self.files.note_part(part, cut.lines)
        shown = sendable(cut.text)
        ends = part.ends and cut.complete
        header = _part_header(self.place.shown, part, cut)
        return ToolResult.text(header + shown + _footer(shown, _part_notes(part, cut, shown, ends=ends)))

    def _head(self, text: str) -> Cut:
        return head_of(text, lines=self.limits.lines, size=self.limits.size)


def _header(name: str, file: FileText, first: int, last: int, total: int) -> str:
    if total == 0:
        return f"[{name} is empty]"
    lines = f"lines {first}-{last} of {total}" if last >= first else f"line {first} of {total}"
    return f"[{name}, {', '.join([lines, *_traits(file)])}]\n"


def _part_header(name: str, part: FilePart, cut: Cut) -> str:
    last = part.first + max(cut.lines - 1, 0)
    lines = f"line {last}" if last == part.first else f"lines {part.first} to {last}"
    if part.first < 0:
        lines += " from the end"
    traits = [lines, f"of {part.size:,} bytes", *_traits(part)]
    return f"[{name}, {', '.join(traits)}]\n"


def _part_notes(part: FilePart, cut: Cut, shown: str, *, ends: bool) -> list[str]:
    notes = _half_characters(cut, shown)
    after = part.first + cut.lines
    if cut.lines == 0:
        notes.append(_beginning_of_line(part.first, after + 1))
    elif not ends:
        notes.append(f"More lines, from offset {after} on.")
    elif not cut.text.endswith("\n"):
        notes.append("No newline at the end of the file.")
    return notes


def _traits(file: FileText | FilePart) -> list[str]:
    traits: list[str] = []
    if file.encoding != "utf-8" or file.bom:
        traits.append(file.encoding + (" with byte order mark" if file.bom else ""))
    if "\r\n" in file.text:
        traits.append("CR LF line ends" if line_end_of(file.text) else "LF and CR LF line ends")
    return traits


def _notes(cut: Cut, shown: str, last: int, total: int) -> list[str]:
    notes = _half_characters(cut, shown)
    if not cut.complete and cut.lines == 0:
        notes.append(_beginning_of_line(last + 1, last + 2))
    elif last < total:
        left = total - last
        notes.append(f"{left} more line{'s' * (left != 1)}, from offset {last + 1} on.")
    elif cut.text and not cut.text.endswith("\n"):
        notes.append("No newline at the end of the file.")
    return notes


def _half_characters(cut: Cut, shown: str) -> list[str]:
    told = "Where � is shown, the file has half a character that cannot be copied."
    return [told] if shown != cut.text else []


def _beginning_of_line(number: int, following: int) -> str:
    return (
        f"This is the beginning of line {number}, which is too long to be shown whole; see more of it with "
        f"bash (cut -c). The lines after it begin at offset {following}."
    )


def _footer(shown: str, notes: list[str]) -> str:
    between = "" if shown.endswith("\n") else "\n"
    return between + "\n".join(f"[{note}]" for note in notes) if notes else ""
