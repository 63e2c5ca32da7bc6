"""Finding the text an edit names and putting the new one in its place. Pure; large texts take a while.

Exact matches come first. Else a match may differ in line ends, and else in trailing blanks and typographic
quotes, dashes and blanks too; it must then be the only one. Indentation is never guessed. What both texts
of an edit have in common stays as the file has it, so that only touched lines change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice, pairwise
from typing import TypeAlias

from pilothouse_agent.files.diff import changes
from pilothouse_agent.files.equal_ends import equal_end, equal_start
from pilothouse_agent.files.lines import line_at, line_end_of, split_lines
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.files.folded import FoldedText
from pilothouse_agent.tools.files.nearest import describe_nearest

__all__ = ["Edit", "apply_edits"]

_LISTED = 10
_WHOLE_END = "\0"
"""Stands for CR LF, so that half of one is never found; no text has it."""


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


class _Text:
    """The text of a file, and what is worked out of it once for all edits."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded: dict[bool, FoldedText] = {}
        self._line_end = (0, -1)

    @cached_property
    def whole_ends(self) -> str:
        return self.text.replace("\r\n", _WHOLE_END)

    def folded(self, *, loose: bool) -> FoldedText:
        if loose not in self._folded:
            self._folded[loose] = FoldedText(self.text, loose=loose)
        return self._folded[loose]

    def in_line_ends_at(self, index: int, new: str) -> str:
        """`new`, written with LF, with the line end used at `index` or else before it."""
        if "\n" not in new:
            return new
        # Remembered, since many places may lie in one long line.
        start, found = self._line_end
        if not start <= index <= found:
            found = self.text.find("\n", index)
            found = found if found >= 0 else len(self.text)
            self._line_end = index, found
        if found == len(self.text):
            found = self.text.rfind("\n", 0, index)
        return new.replace("\n", "\r\n") if found > 0 and self.text[found - 1] == "\r" else new


def apply_edits(text: str, edits: Sequence[Edit], *, name: str = "the file") -> str:
    """All edits are matched against `text`; all are made or none.

    The time is about that of reading the text once for each edit, however often it is found. Raises
    `ToolError` telling which one (from 1) failed and why.
    """
    whole = _Text(text)
    if len(edits) == 1 and (replaced := _replaced_everywhere(whole, edits[0])) is not None:
        return replaced
    matches: list[_Match] = []
    for number, edit in enumerate(edits, start=1):
        try:
            matches += _matches(whole, edit, number, name)
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


def _replaced_everywhere(whole: _Text, edit: Edit) -> str | None:
    """The text without a look at each place, where none is needed: a word may stand there a million times."""
    text, old, new = whole.text, edit.old_text, edit.new_text
    if not edit.replace_all or not old or "\r" in old + new:
        return None
    if "\n" not in old + new or "\r\n" not in text:
        replaced = text.replace(old, new)
    elif line_end_of(text) == "\r\n":
        replaced = text.replace("\r\n", "\n").replace(old, new).replace("\n", "\r\n")
    else:
        return None
    return replaced if replaced != text else None


def _matches(whole: _Text, edit: Edit, number: int, name: str) -> list[_Match]:
    text = whole.text
    if not edit.old_text:
        raise ToolError(
            "old_text is empty, which names no place. To insert, give a line that is there and repeat it "
            "in new_text; to create a file or replace a whole one, use write_file."
        )
    if edit.old_text == edit.new_text:
        raise ToolError("This changes nothing: old_text and new_text are the same.")
    exact = _exact(whole, edit, number)
    if exact:
        return _checked(text, edit, exact, name, "is")
    windows_ends = "\r\n" in text or "\r\n" in edit.old_text
    for loose in (False, True) if windows_ends else (True,):
        found = _forgiving(whole, edit, number, loose=loose)
        if found:
            only = "is, apart from line ends, blanks at them, quotes and dashes," if loose else "is"
            return _checked(text, edit, found, name, only, several=not loose)
    raise _not_found(text, edit, name)


def _exact(whole: _Text, edit: Edit, number: int) -> list[_Match]:
    if _WHOLE_END in edit.old_text:
        return []
    literal = "\r" in edit.old_text or "\r" in edit.new_text
    length = len(edit.old_text)
    differences = [(0, length, edit.new_text)] if literal else list(_differences(edit))
    wanted = edit.old_text.replace("\r\n", _WHOLE_END)
    matches: list[_Match] = []
    done = shift = 0
    for place in _places(whole.whole_ends, wanted, edit):
        shift += whole.whole_ends.count(_WHOLE_END, done, place)
        done = place
        start = place + shift
        pieces = tuple(
            (start + low, start + high, new if literal else whole.in_line_ends_at(start + low, new))
            for low, high, new in differences
        )
        matches.append(_Match(number, start, start + length, pieces))
    return matches


def _forgiving(whole: _Text, edit: Edit, number: int, *, loose: bool) -> list[_Match]:
    old = FoldedText(edit.old_text, loose=loose)
    if loose and not old.text.strip():
        return []
    folded = whole.folded(loose=loose)
    length = len(old.text)
    differences = list(_differences(edit))
    # Blanks that the last line has lost stood at its end: nothing but a line end may follow.
    ended = "\n" if old.lost_blanks_at_end else ""
    matches: list[_Match] = []
    for start in _places(folded.text + ended, old.text + ended, edit):
        pieces = tuple(
            _piece(whole, folded, start + old.folded(low), start + old.folded(high), new)
            for low, high, new in differences
        )
        matches.append(_Match(number, folded.tight(start), folded.wide(start + length), pieces))
    return matches


def _piece(whole: _Text, folded: FoldedText, start: int, end: int, new: str) -> _Piece:
    """Blanks at the end of a line that is touched go with it; those of its neighbours stay."""
    new = new.replace("\r\n", "\n")
    low, high = folded.tight(start), folded.wide(end)
    if start == end and new.startswith("\n"):
        low = high
    elif new.endswith("\n") if start == end else folded.text[end - 1] == "\n":
        high = folded.tight(end)
    return low, high, whole.in_line_ends_at(low, new)


def _places(text: str, wanted: str, edit: Edit) -> Iterator[int]:
    """Where `wanted` begins: all places that do not overlap when all are meant, else just enough of them,
    overlapping ones too, to tell that there are several."""
    step = len(wanted) if edit.replace_all else 1

    def places() -> Iterator[int]:
        start = text.find(wanted)
        while start >= 0:
            yield start
            start = text.find(wanted, start + step)

    return islice(places(), None if edit.replace_all else _LISTED + 1)


def _differences(edit: Edit) -> Iterator[_Piece]:
    """The edit as pieces of its old text, without what both texts have in common."""
    old, new = split_lines(edit.old_text), split_lines(edit.new_text)
    starts = [0, *accumulate(len(line) for line in old)]
    for change in changes(old, new):
        before = "".join(old[change.old_start : change.old_end])
        after = "".join(new[change.new_start : change.new_end])
        head = equal_start(before, after)
        tail = equal_end(before, after, most=min(len(before), len(after)) - head)
        start = starts[change.old_start]
        yield start + head, start + len(before) - tail, after[head : len(after) - tail]


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
    lines = list(dict.fromkeys(line_at(text, match.start) for match in found[:_LISTED]))
    places = f"in line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
    count, more = (f"more than {_LISTED}", ", …") if len(found) > _LISTED else (str(len(found)), "")
    advice = "Give more lines around the one you mean"
    advice += ", or set replace_all." if several else ", copied exactly."
    raise ToolError(f"old_text {how} in {name} {count} times, {places}{more}. {advice}")


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
