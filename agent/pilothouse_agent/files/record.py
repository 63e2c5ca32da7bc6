"""What one session's model knows of which files (kernel.md F3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from pilothouse_agent.files.diff import text_changes
from pilothouse_agent.files.lines import count_lines
from pilothouse_agent.kernel.ports import FileChange, FileText, TextChange

__all__ = ["CarryingOver", "ReadRecord", "Spans", "add_span", "carry_over"]

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Known lines: rising ranges from 1, both ends included, neither touching nor overlapping."""

_Key: TypeAlias = tuple[int, int]

_PARTS_A_FILE = 1_000
_TEXTS_A_FILE = 16
"""Texts of one file to remember, the latest ones; a text that comes back is still known."""


class _Part(NamedTuple):
    lines: int
    length: int
    """Characters."""
    key: _Key


class ReadRecord:
    """Keyed by real path and by the text itself: content decides, not time stamps."""

    def __init__(self) -> None:
        self._known: dict[str, dict[_Key, Spans]] = {}
        self._parts: dict[str, dict[int, _Part]] = {}
        self._doubts: set[str] = set()

    def note(self, path: str, text: str, spans: Spans) -> None:
        """Add lines that the model has seen or written. Ends a doubt."""
        texts = self._known.setdefault(path, {})
        key = _key(text)
        known = texts.pop(key, ())
        for span in spans:
            known = add_span(known, *span)
        texts[key] = known
        if len(texts) > _TEXTS_A_FILE:
            del texts[next(iter(texts))]
        self._doubts.discard(path)

    def note_part(self, path: str, first: int, text: str) -> None:
        """Add whole lines of a text of which nobody has seen the rest. Does not end a doubt."""
        parts = self._parts.setdefault(path, {})
        parts.pop(first, None)
        parts[first] = _Part(count_lines(text), len(text), _key(text))
        if len(parts) > _PARTS_A_FILE:
            del parts[next(iter(parts))]

    def known(self, path: str, text: str) -> Spans:
        known = self._known.get(path, {}).get(_key(text), ())
        for span in _standing(self._parts.get(path, {}), text):
            known = add_span(known, *span)
        return known

    def known_after(self, change: FileChange, *, whole: bool) -> Spans:
        """Of the text that the model has made: what it knew before, and what it wrote.

        `whole`: it wrote all of it.
        """
        before, after = change.before or "", change.after or ""
        if whole:
            return ((1, count_lines(after)),)
        return carry_over(self.known(change.path, before), before, after)

    def note_change(self, change: FileChange, *, whole: bool) -> None:
        self.note(change.path, change.after or "", self.known_after(change, whole=whole))

    def unread(self, path: str, text: str) -> str | None:
        """Why the file may not be replaced as a whole; None when the model knows all of `text`."""
        known, total = self.known(path, text), count_lines(text)
        if total == 0 or known == ((1, total),):
            return None
        if known:
            listed = ", ".join(f"{first}-{last}" for first, last in known)
            return f"only lines {listed} of its {total} lines have been read. Read the rest"
        if path in self._known or path in self._parts:
            return "it has changed since it was read. Read it again"
        return "it exists and has not been read. Read it"

    def doubt(self, path: str) -> None:
        """A write has an unknown outcome: what is known of the file no longer counts."""
        self.forget(path)
        self._doubts.add(path)

    def in_doubt(self, path: str) -> bool:
        return path in self._doubts

    def move(self, path: str, new_path: str) -> None:
        known, parts = self._known.pop(path, None), self._parts.pop(path, None)
        self.forget(new_path)
        if known is not None:
            self._known[new_path] = known
        if parts is not None:
            self._parts[new_path] = parts

    def forget(self, path: str) -> None:
        self._known.pop(path, None)
        self._parts.pop(path, None)
        self._doubts.discard(path)


class CarryingOver:
    """A text change that works out where it is made, in its thread, what the model will know after it."""

    def __init__(self, record: ReadRecord, path: str, change: TextChange, *, whole: bool) -> None:
        """`path` is real. `whole`: the model writes all of the text."""
        self._record = record
        self._path = path
        self._change = change
        self._whole = whole
        self._made: FileChange | None = None
        self._known: Spans = ()

    def __call__(self, file: FileText | None) -> str:
        text = self._change(file)
        self._made = FileChange(self._path, "modify", "editor", file and file.text, text)
        self._known = self._record.known_after(self._made, whole=self._whole)
        return text

    def known(self, change: FileChange) -> Spans | None:
        """For the change as it came out; None when it is another than was worked out last."""
        made = self._made
        if made is None or (made.before, made.after) != (change.before, change.after):
            return None
        return self._known


def _standing(parts: Mapping[int, _Part], text: str) -> Iterator[tuple[int, int]]:
    """The lines of the parts that stand in the text just where they were read."""
    line, place = 1, 0
    for first, part in sorted(parts.items()):
        while line < first and (end := text.find("\n", place)) >= 0:
            line, place = line + 1, end + 1
        if line == first and _key(text[place : place + part.length]) == part.key:
            yield first, first + part.lines - 1


def add_span(spans: Spans, first: int, last: int) -> Spans:
    if last < first:
        return spans
    joined = [span for span in spans if span[0] <= last + 1 and first <= span[1] + 1]
    apart = [span for span in spans if span not in joined]
    low = min([first, *(span[0] for span in joined)])
    high = max([last, *(span[1] for span in joined)])
    return tuple(sorted([*apart, (low, high)]))


def carry_over(spans: Spans, before: str, after: str) -> Spans:
    """The known lines of a text after the model's own change: those that stay, and all it wrote."""
    known: Spans = ()
    done, shift = 0, 0
    for change in text_changes(before, after):
        known = _keep(known, spans, done, change.old_start, shift)
        known = add_span(known, change.new_start + 1, change.new_end)
        done, shift = change.old_end, change.new_end - change.old_end
    return _keep(known, spans, done, count_lines(before), shift)


def _keep(known: Spans, spans: Spans, start: int, end: int, shift: int) -> Spans:
    """Add the part of `spans` within the old lines from index `start` to `end`, moved by `shift`."""
    for first, last in spans:
        known = add_span(known, max(first, start + 1) + shift, min(last, end) + shift)
    return known


def _key(text: str) -> _Key:
    # Python keeps the hash with the string: a text that is asked about again costs nothing.
    return len(text), hash(text)
