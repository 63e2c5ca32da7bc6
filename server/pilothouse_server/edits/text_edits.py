"""What makes one text into another, as edits that real editors apply rightly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from pilothouse_agent.files.diff import Change, changes
from pilothouse_agent.files.equal_ends import equal_end, equal_ends, equal_start
from pilothouse_server.client.positions import Encoding, Places, Position, lsp_lines

__all__ = [
    "Splice",
    "TextEdit",
    "in_own_line_ends",
    "spliced",
    "splices",
    "text_edits",
    "workspace_edit",
]

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class TextEdit:
    start: Position
    end: Position
    new_text: str

    def to_wire(self) -> dict[str, Any]:
        span = {"start": self.start.to_wire(), "end": self.end.to_wire()}
        return {"range": span, "newText": self.new_text}


class Splice(NamedTuple):
    """New text for the old text from `start` to `end`."""

    start: int
    end: int
    new: str


def text_edits(old: str, new: str, encoding: Encoding) -> tuple[TextEdit, ...]:
    """Sorted, apart, within the lines that differ, and no larger than they must be.

    None begins or ends behind the last line end, which some editors do not take for a line, unless
    that line end itself is to go.
    """
    places = Places(old, encoding)
    return tuple(
        TextEdit(places.position(start), places.position(end), text)
        for start, end, text in _joined(_off_the_end(splice, old) for splice in splices(old, new))
    )


def workspace_edit(
    uri: str, version: int | None, edits: Sequence[TextEdit], *, least_version: int = 1
) -> dict[str, Any]:
    """One document's edits, for the text it has at `version`; `uri` as the client spells it.

    Without a version they are for whatever text it has then. `least_version` is sent for lower ones: a
    client may take 0 for no version at all.
    """
    wire = [edit.to_wire() for edit in edits]
    if version is None:
        return {"changes": {uri: wire}}
    document = {"uri": uri, "version": max(version, least_version)}
    return {"documentChanges": [{"textDocument": document, "edits": wire}]}


def in_own_line_ends(text: str, like: str) -> str:
    """`text` as an editor will have it in a document that reads `like`: with its line ends, if all are alike.

    A text without any line end is taken for one with LF.
    """
    if "\r" not in text and "\r" not in like:
        return text
    ends = _line_ends(like) or {"\n"}
    if len(ends) > 1 or _line_ends(text) <= ends:
        return text
    return _LINE_END.sub(ends.pop(), text)


def _line_ends(text: str) -> set[str]:
    """Counted, which is much quicker than looking at each."""
    both = text.count("\r\n")
    found = {"\r\n": both, "\n": text.count("\n") - both, "\r": text.count("\r") - both}
    return {end for end, count in found.items() if count}


def splices(old: str, new: str) -> Iterator[Splice]:
    """What differs, in rising order, trimmed to the characters within lines that have a counterpart."""
    top, bottom = equal_ends(old, new)
    old_lines = _whole_lines(old[top : len(old) - bottom])
    new_lines = _whole_lines(new[top : len(new) - bottom])
    starts = list(accumulate(map(len, old_lines), initial=top))
    for change in changes(old_lines, new_lines):
        for part in _pairs(change):
            before = "".join(old_lines[part.old_start : part.old_end])
            after = "".join(new_lines[part.new_start : part.new_end])
            if before != after:
                yield _trimmed(starts[part.old_start], before, after)


def spliced(text: str, parts: Sequence[Splice]) -> str:
    """The text with the parts put in, which are in order and apart."""
    pieces: list[str] = []
    done = 0
    for start, end, new in parts:
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def _whole_lines(text: str) -> list[str]:
    lines = lsp_lines(text)
    return lines if lines[-1] else lines[:-1]


def _pairs(change: Change) -> Iterator[Change]:
    """As many lines for as many: line by line, so that line ends stay out of it."""
    old_start, old_end, new_start, new_end = change
    if old_end - old_start != new_end - new_start:
        yield change
        return
    for shift in range(old_end - old_start):
        i, j = old_start + shift, new_start + shift
        yield Change(i, i + 1, j, j + 1)


def _trimmed(start: int, before: str, after: str) -> Splice:
    """Without what is equal at both ends; CR LF is not taken apart."""
    least = min(len(before), len(after))
    left = equal_start(before, after)
    if before[:left].endswith("\r") and "\n" in (before[left : left + 1], after[left : left + 1]):
        left -= 1
    right = equal_end(before, after, most=least - left)
    middles = before[left : len(before) - right], after[left : len(after) - right]
    if before[len(before) - right :].startswith("\n") and any(middle.endswith("\r") for middle in middles):
        right -= 1
    return Splice(start + left, start + len(before) - right, after[left : len(after) - right])


def _off_the_end(splice: Splice, old: str) -> Splice:
    """The same change without a position behind the last line end, where there is such a one."""
    start, end, new = splice
    line_end = _line_end_before(old, len(old))
    if not line_end or end < len(old):
        return splice
    size = len(line_end)
    if start == end and _line_end_before(new, len(new)) == line_end:
        return Splice(start - size, end - size, line_end + new[:-size])
    if not new and _line_end_before(old, start) == line_end:
        return Splice(start - size, end - size, "")
    return Splice(start - size, end, line_end + new) if start == end else splice


def _line_end_before(text: str, place: int) -> str:
    """Empty when no line ends there."""
    last = text[max(0, place - 2) : place]
    return next((end for end in ("\r\n", "\n", "\r") if last.endswith(end)), "")


def _joined(splices: Iterator[Splice]) -> list[Splice]:
    """Those that touch as one."""
    found: list[Splice] = []
    for splice in splices:
        if found and found[-1].end == splice.start:
            last = found.pop()
            splice = Splice(last.start, splice.end, last.new + splice.new)
        found.append(splice)
    return found
