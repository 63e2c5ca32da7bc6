"""Prompts made of what the user points at in a file: a note in it, a selection, a diagnostic."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pilothouse_server.chat.chat_text import fenced
from pilothouse_server.client.positions import Position, content_of, index_in
from pilothouse_server.documents.document import Document

__all__ = ["Spot", "diagnostic_prompt", "explain_prompt", "note_prompt", "note_within", "quote"]

_NOTE = re.compile(
    r"(?:#|//|--|;|%|\*|\"|'|<!--|\{-)\s*pilothouse:\s*(?P<text>\S.*?)\s*(?:\*/|-->|\*\)|-\})?\s*$",
    re.IGNORECASE,
)
"""Behind any mark that begins a comment in some language."""
_WORD = re.compile(r"[\w$@]+(?:[-.:'][\w$@]+)*")
_MOST = 6000
"""Characters of a selection that are put into a prompt; of a longer one only the lines are named."""
_NOTE_LINES = 200
"""Lines of a selection that are searched for a note; some editors ask at every move of the cursor."""
_NOTE_LENGTH = 1000
"""Characters at the end of a line in which a note may stand."""
_LONG_LINE = 50_000
"""Characters; a longer line is made for machines, and to count in it takes time."""


@dataclass(frozen=True)
class Spot:
    """A range of a document, read at the cost of its lines; `name` is how its file is called to the model."""

    document: Document
    name: str
    start: Position
    end: Position

    @cached_property
    def text(self) -> str | None:
        """What is selected; None when it is too long for a prompt."""
        if self.end.line - self.start.line > _MOST:
            return None
        lines = self.document.lines(self.start.line, self.end.line)
        if not lines:
            return ""
        if max(map(len, lines)) > _LONG_LINE or sum(map(len, lines[1:-1])) > _MOST:
            return None if self.start < self.end else ""
        encoding = self.document.encoding
        whole = self.end.line - self.start.line == len(lines) - 1
        right = index_in(lines[-1], self.end.character, encoding) if whole else len(lines[-1])
        lines[-1] = lines[-1][:right]
        lines[0] = lines[0][index_in(lines[0], self.start.character, encoding) :]
        text = "".join(lines)
        return text if len(text) <= _MOST else None

    @property
    def is_selection(self) -> bool:
        """Not the word or the line that some editors send where nothing is selected."""
        text = self.text
        if text is None:
            return True
        return bool(text.strip()) and not self._is_one_line(text) and not self._is_one_word(text)

    @property
    def whole_lines(self) -> str | None:
        """The lines that it touches, without the last one's end; None when they are too long for a prompt."""
        lines = self.document.lines(self.start.line, min(self.last_line, self.start.line + _MOST))
        return content_of("".join(lines)) if sum(map(len, lines)) <= _MOST else None

    @property
    def place(self) -> str:
        """As people say it: `a.py`, lines 3 to 7."""
        first, last = self.start.line + 1, self.last_line + 1
        return f"`{self.name}`, " + (f"line {first}" if first == last else f"lines {first} to {last}")

    @property
    def last_line(self) -> int:
        """A selection of whole lines ends at the beginning of the next one."""
        at_start = self.end.character == 0 and self.end.line > self.start.line
        return self.end.line - at_start

    def _is_one_line(self, text: str) -> bool:
        (line, *_) = self.document.lines(self.start.line, self.start.line) or [""]
        return self.last_line == self.start.line and text.strip() == line.strip()

    def _is_one_word(self, text: str) -> bool:
        if self.end.line != self.start.line or not _WORD.fullmatch(text):
            return False
        (line,) = self.document.lines(self.start.line, self.start.line)
        start = index_in(line, self.start.character, self.document.encoding)
        around = line[max(0, start - 1) : start], line[start + len(text) : start + len(text) + 1]
        return not any(_WORD.fullmatch(each) for each in around)


def note_within(spot: Spot) -> tuple[int, str] | None:
    """The first `pilothouse: …` comment that the spot touches: its line, from 0, and what it says."""
    first = spot.start.line
    last = min(spot.last_line, first + _NOTE_LINES - 1)
    for number, line in enumerate(spot.document.lines(first, last), first):
        end = content_of(line[-_NOTE_LENGTH:])
        if "pilothouse:" in end.lower() and (found := _NOTE.search(end)):
            return number, found["text"]
    return None


def note_prompt(spot: Spot, line: int, note: str) -> str:
    return (
        f"In `{spot.name}`, line {line + 1}, there is a note for you:\n\n> {note}\n\n"
        "Do what it asks, and take the note out."
    )


def explain_prompt(spot: Spot) -> str:
    return f"Explain what is selected in {quote(spot)}"


def quote(spot: Spot) -> str:
    """Where the selection is, and its text unless it is long."""
    text = spot.text
    return f"{spot.place}:\n\n{fenced(text, spot.document.language)}" if text else f"{spot.place}."


def diagnostic_prompt(spot: Spot, message: str, diagnostic: dict[str, Any]) -> str:
    code = diagnostic.get("code")
    said_by = [str(part) for part in (diagnostic.get("source"), code) if isinstance(part, str | int)]
    by = f" ({' '.join(said_by)})" if said_by else ""
    problem = f"Fix this problem in {spot.place}:\n\n> {' '.join(message.split())}{by}"
    lines = spot.whole_lines
    return f"{problem}\n\n{fenced(lines, spot.document.language)}" if lines else problem
