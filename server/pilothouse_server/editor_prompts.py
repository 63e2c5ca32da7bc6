"""Prompts made of what the user points at in a file: a note in it, a selection, a diagnostic."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pilothouse_server.chat_text import fenced
from pilothouse_server.document import Document
from pilothouse_server.positions import Position, content_of, lsp_lines, offset_at

__all__ = ["Spot", "diagnostic_prompt", "explain_prompt", "note_prompt", "note_within", "quote"]

_NOTE = re.compile(
    r"(?:#|//|--|;|%|\*|\"|'|<!--|\{-)\s*pilothouse:\s*(?P<text>\S.*?)\s*(?:\*/|-->|\*\)|-\})?\s*$",
    re.IGNORECASE,
)
"""Behind any mark that begins a comment in some language."""
_MOST = 6000
"""Characters of a selection that are put into a prompt; of a longer one only the lines are named."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A range of a document; `name` is how its file is called to the model."""

    document: Document
    name: str
    start: Position
    end: Position

    @property
    def text(self) -> str:
        text, encoding = self.document.text, self.document.encoding
        return text[offset_at(text, self.start, encoding) : offset_at(text, self.end, encoding)]

    @property
    def lines(self) -> list[str]:
        """The whole lines that it touches."""
        return [content_of(line) for line in lsp_lines(self.document.text)[self.start.line : self._last + 1]]

    @property
    def place(self) -> str:
        """As people say it: `a.py`, lines 3 to 7."""
        first, last = self.start.line + 1, self._last + 1
        return f"`{self.name}`, " + (f"line {first}" if first == last else f"lines {first} to {last}")

    @property
    def _last(self) -> int:
        """A selection of whole lines ends at the beginning of the next one."""
        at_start = self.end.character == 0 and self.end.line > self.start.line
        return self.end.line - at_start


def note_within(spot: Spot) -> tuple[int, str] | None:
    """The first `pilothouse: …` comment that the spot touches: its line, from 0, and what it says."""
    for number, line in enumerate(spot.lines, spot.start.line):
        if found := _NOTE.search(line):
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
    text = spot.text if len(spot.text) <= _MOST else ""
    return f"{spot.place}:\n\n{fenced(text, spot.document.language)}" if text.strip() else f"{spot.place}."


def diagnostic_prompt(spot: Spot, message: str, diagnostic: dict[str, Any]) -> str:
    code = diagnostic.get("code")
    said_by = [str(part) for part in (diagnostic.get("source"), code) if isinstance(part, str | int)]
    by = f" ({' '.join(said_by)})" if said_by else ""
    lines = fenced("\n".join(spot.lines), spot.document.language)
    return f"Fix this problem in {spot.place}:\n\n> {' '.join(message.split())}{by}\n\n{lines}"
