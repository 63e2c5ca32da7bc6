"""Finding the text an edit names and putting the new one in its place. Pure; large texts take a while.

Exact matches come first. Else a match may differ in line ends, and else in trailing blanks and typographic
quotes, dashes and blanks too; it must then be the only one. Indentation is never guessed. What both texts
of an edit have in common stays as the file has it, so that only touched lines change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypeAlias

from pilothouse_agent.files.diff import changes
from pilothouse_agent.files.lines import line_at, split_lines
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.folded import FoldedText
from pilothouse_agent.tools.nearest import describe_nearest

__all__ = ["Edit", "apply_edits"]

_LISTED = 10


@dataclass(frozen=True, slots=True)
class Edit:
    old_text: str
    new_text: str
    replace_all: bool = False


_Piece: TypeAlias = tuple[int, int, str]
"""Start, end (excluded) and what comes there instead; indices from 0."""


@dataclass(frozen=True, slots=True)
class _Match:
    number: int
    """Of the edit, from 1."""
    start: int
    end: int
    pieces: tuple[_Piece, ...]


def apply_edits(text: str, edits: Sequence[Edit], *, name: str = "the file") -> str:
    """All edits are matched against `text`; all are made or none.

    Raises `ToolError` telling which one (from 1) failed and why.
    """
    matches: list[_Match] = []
    for number, edit in enumerate(edits, start=1):
        try:
            matches += _matches(text, edit, number, name)
        except ToolError as error:
            label = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            raise ToolError(f"{label}{error} Nothing was changed.") from None
    matches.sort(key=lambda match: match.start)
    for left, right in pairwise(matches):
        if right.start < left.end:
            raise _overlap(text, left, right, name)
    new_text = _spliced(text, [piece for match in matches for piece in match.pieces])
    if new_text == text:
        raise ToolError(f"This changes nothing: {name} has that text already.")
    return new_text


def _matches(text: str, edit: Edit, number: int, name: str) -> list[_Match]:
    if not edit.old_text:
        raise ToolError(
            "old_text is empty, which names no place. To insert, give a line that is there and repeat it "
            "in new_text; to create a file or replace a whole one, use write_file."
        )
    if edit.old_text == edit.new_text:
        raise ToolError("This changes nothing: old_text and new_text are the same.")
    exact = _exact(text, edit, number)
    if exact:
        return _checked(text, edit, exact, name, "is")
    windows_ends = "\r\n" in text or "\r\n" in edit.old_text
    for loose in (False, True) if windows_ends else (True,):
        found = _forgiving(text, edit, number, loose=loose)
        if found:
            only = "is, apart from line ends, blanks at them, quotes and dashes," if loose else "is"
            return _checked(text, edit, found, name, only, several=not loose)
    raise _not_found(text, edit, name)


def _exact(text: str, edit: Edit, number: int) -> list[_Match]:
    literal = "\r" in edit.old_text or "\r" in edit.new_text
    matches: list[_Match] = []
    for start in _places(text, edit.old_text, apart=edit.replace_all):
        end = start + len(edit.old_text)
        if "\r\n" in (text[start - 1 : start + 1], text[end - 1 : end + 1]):
            continue  # half a line end; as a whole one it is found with other line ends
        if literal:
            pieces = ((start, end, edit.new_text),)
        else:
            pieces = tuple(
                (start + low, start + high, _in_line_ends_of(text, start + low, new))
                for low, high, new in _differences(edit)
            )
        matches.append(_Match(number, start, end, pieces))
    return matches


def _forgiving(text: str, edit: Edit, number: int, *, loose: bool) -> list[_Match]:
    old = FoldedText(edit.old_text, loose=loose)
    if loose and not old.text.strip():
        return []
    folded = FoldedText(text, loose=loose)
    length = len(old.text)
    matches: list[_Match] = []
    for start in _places(folded.text, old.text, apart=edit.replace_all):
        end = start + length
        if old.lost_blanks_at_end and folded.text[end : end + 1] not in ("", "\n"):
            continue
        pieces = tuple(
            _piece(text, folded, start + old.folded(low), start + old.folded(high), new)
            for low, high, new in _differences(edit)
        )
        matches.append(_Match(number, folded.tight(start), folded.wide(end), pieces))
    return matches


def _piece(text: str, folded: FoldedText, start: int, end: int, new: str) -> _Piece:
    """Blanks at the end of a line that is touched go with it; those of its neighbours stay."""
    new = new.replace("\r\n", "\n")
    low, high = folded.tight(start), folded.wide(end)
    if start == end and new.startswith("\n"):
        low = high
    elif new.endswith("\n") if start == end else folded.text[end - 1] == "\n":
        high = folded.tight(end)
    return low, high, _in_line_ends_of(text, low, new)


def _places(text: str, wanted: str, *, apart: bool) -> Iterator[int]:
    """Where `wanted` begins; with `apart` only places that do not overlap."""
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + (len(wanted) if apart else 1))


def _differences(edit: Edit) -> Iterator[_Piece]:
    """The edit as pieces of its old text, without what both texts have in common."""
    old, new = split_lines(edit.old_text), split_lines(edit.new_text)
    starts = [0, *accumulate(len(line) for line in old)]
    for change in changes(old, new):
        before = "".join(old[change.old_start : change.old_end])
        after = "".join(new[change.new_start : change.new_end])
        head = _common_length(before, after)
        tail = _common_length(before[head:][::-1], after[head:][::-1])
        start = starts[change.old_start]
        yield start + head, start + len(before) - tail, after[head : len(after) - tail]


def _common_length(left: str, right: str) -> int:
    pairs = zip(left, right, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _in_line_ends_of(text: str, index: int, new: str) -> str:
    """`new`, written with LF, with the line end used at `index` or else before it."""
    found = text.find("\n", index)
    found = found if found >= 0 else text.rfind("\n", 0, index)
    return new.replace("\n", "\r\n") if found > 0 and text[found - 1] == "\r" else new


def _spliced(text: str, pieces: Sequence[_Piece]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, new in pieces:
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])


def _checked(
    text: str, edit: Edit, found: list[_Match], name: str, how: str, *, several: bool = True
) -> list[_Match]:
    if len(found) == 1 or (edit.replace_all and several):
        return found
    lines = ", ".join(str(line_at(text, match.start)) for match in found[:_LISTED])
    more = ", …" if len(found) > _LISTED else ""
    advice = "Give more lines around the one you mean"
    advice += ", or set replace_all." if several else ", copied exactly."
    raise ToolError(f"old_text {how} in {name} {len(found)} times, in lines {lines}{more}. {advice}")


def _not_found(text: str, edit: Edit, name: str) -> ToolError:
    message = f"old_text is not in {name}."
    if edit.new_text.strip() and edit.new_text in text:
        line = line_at(text, text.index(edit.new_text))
        message += f" new_text is there already, in line {line}: was this edit made before?"
    return ToolError(f"{message} {describe_nearest(text, edit.old_text)}")


def _overlap(text: str, left: _Match, right: _Match, name: str) -> ToolError:
    first, second = sorted((left.number, right.number))
    line = line_at(text, right.start)
    return ToolError(
        f"Edits {first} and {second} overlap in line {line} of {name}. Make them one edit. "
        "Nothing was changed."
    )
