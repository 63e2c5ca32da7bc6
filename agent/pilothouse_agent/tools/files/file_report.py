"""What a changed file tells the model, the display and the event stream."""

from __future__ import annotations

from typing import NamedTuple

from pilothouse_agent.files.changed import event_of_change
from pilothouse_agent.files.diff import count_changed
from pilothouse_agent.kernel.events import Location
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_agent.kernel.tooling import Hunk, ToolResult
from pilothouse_agent.tools.limits import head_of, sendable

__all__ = [
    "NO_FINAL_NEWLINE",
    "Excerpt",
    "change_result",
    "count_phrase",
    "excerpts",
    "excerpts_text",
]

NO_FINAL_NEWLINE = "[No newline at the end of the file.]"

_EXCERPT_LINES = 80
_EXCERPT_BYTES = 6_000
_DETAIL_LINES = 2_000
_DETAIL_SIZE = 64 * 1024


class Excerpt(NamedTuple):
    """Lines of the text as it stands now; numbers from 1, both included."""

    first: int
    last: int
    text: str


def change_result(text: str, change: FileChange, hunks: tuple[Hunk, ...], *, call_id: str) -> ToolResult:
    """Without a `file_changed` event when the text is what it was before."""
    if change.note:
        text = "\n".join([text.removesuffix("\n"), f"[{change.note}]"])
    effect = event_of_change(change, hunks, call_id)
    line = _first_changed_line(hunks[0]) if hunks else None
    return ToolResult(
        (TextBlock(sendable(text)),),
        details=_details(change, hunks),
        locations=(Location(change.path, line),),
        effects=() if change.kind == "modify" and change.before == change.after else (effect,),
    )


def count_phrase(hunks: tuple[Hunk, ...]) -> str:
    added, removed = count_changed(hunks)
    return f"{added} line{'s' * (added != 1)} added, {removed} removed"


def excerpts(hunks: tuple[Hunk, ...]) -> list[Excerpt]:
    """The changed places with their context, as many as there is room to show."""
    shown: list[Excerpt] = []
    lines, size = _EXCERPT_LINES, _EXCERPT_BYTES
    for hunk in hunks:
        cut = head_of("".join(line[1:] for line in hunk.lines if line[0] != "-"), lines=lines, size=size)
        if cut.lines:
            shown.append(Excerpt(hunk.new_start, hunk.new_start + cut.lines - 1, cut.text))
        if not cut.complete:
            break
        lines, size = lines - cut.lines, size - len(cut.text.encode("utf-8", "surrogatepass"))
    return shown


def excerpts_text(shown: list[Excerpt], hunks: tuple[Hunk, ...]) -> str:
    """Each below a note in square brackets, so that its lines can be copied as they are."""
    parts = [
        f"[lines {first}-{last} are now]\n{text}" + ("" if text.endswith("\n") else f"\n{NO_FINAL_NEWLINE}\n")
        for first, last, text in shown
    ]
    expected = sum(line[0] != "-" for hunk in hunks for line in hunk.lines)
    if sum(last - first + 1 for first, last, _ in shown) < expected:
        parts.append("[More was changed than is shown here.]\n")
    return "".join(parts)


def _first_changed_line(hunk: Hunk) -> int:
    kept = next((index for index, line in enumerate(hunk.lines) if line[0] != " "), 0)
    return hunk.new_start + kept


def _details(change: FileChange, hunks: tuple[Hunk, ...]) -> JsonObject:
    details: JsonObject = {"path": change.path, "change": change.kind}
    if change.source is not None:
        details["source"] = change.source
    lines = [line for hunk in hunks for line in hunk.lines]
    if 0 < len(lines) <= _DETAIL_LINES and sum(map(len, lines)) <= _DETAIL_SIZE:
        details["hunks"] = [_hunk_object(hunk) for hunk in hunks]
    return details


def _hunk_object(hunk: Hunk) -> JsonValue:
    lines: list[JsonValue] = [sendable(line) for line in hunk.lines]
    return {"oldStart": hunk.old_start, "newStart": hunk.new_start, "lines": lines}
