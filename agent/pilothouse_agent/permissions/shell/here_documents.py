"""Here-documents: announced on a command line, read from the lines behind it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pilothouse_agent.permissions.shell.script import Redirect
from pilothouse_agent.permissions.shell.words import Scanner, Unreadable, Word

__all__ = ["HereDocuments"]


@dataclass(frozen=True, slots=True)
class _Announced:
    delimiter: str
    quoted: bool
    """Nothing in the body is expanded."""
    tabs: bool
    """Leading tabs do not count."""
    redirects: list[Redirect]
    index: int
    """Where in `redirects` the body belongs."""


class HereDocuments:
    """Those of one text that still wait for the end of their line. All methods raise `Unreadable`."""

    def __init__(self, scan: Scanner, expanded: Callable[[str], Word]) -> None:
        """`expanded` reads the commands in the body of a document that is not quoted."""
        self._scan = scan
        self._expanded = expanded
        self._announced: list[_Announced] = []

    def require_none(self, otherwise: str) -> None:
        if self._announced:
            raise Unreadable(otherwise)

    def announce(self, delimiter: Word, source: str, operator: str, redirects: list[Redirect]) -> None:
        """`source` is the delimiter as written; the document becomes the next of `redirects`."""
        if delimiter.kind == "dynamic" or re.search(r"[$`\n]", source):
            raise Unreadable("an unusual end mark of a here-document")
        quoted = re.search(r"[\"'\\]", source) is not None
        tabs = operator == "<<-"
        self._announced.append(_Announced(delimiter.text, quoted, tabs, redirects, len(redirects)))

    def read(self) -> None:
        """Behind a newline: read the bodies of all that were announced."""
        announced, self._announced = self._announced, []
        for document in announced:
            body = self._body(document)
            word = Word(body) if document.quoted else self._expanded(_unjoined(body))
            document.redirects[document.index] = Redirect("<<", word)

    def _body(self, document: _Announced) -> str:
        text, start = self._scan.text, self._scan.pos
        while not self._scan.ended:
            line_start = self._scan.pos
            line, newline, _ = text[line_start : self._line_end()].partition("\n")
            self._scan.pos = line_start + len(line) + len(newline)
            if (line.lstrip("\t") if document.tabs else line) == document.delimiter:
                return text[start:line_start]
        raise Unreadable("a here-document without its end")

    def _line_end(self) -> int:
        found = self._scan.text.find("\n", self._scan.pos)
        return len(self._scan.text) if found < 0 else found + 1


def _unjoined(body: str) -> str:
    # The shell joins such lines before it looks for the end mark, which may then be elsewhere.
    if "\\\n" in body:
        raise Unreadable("a joined line in a here-document")
    return body
