"""The signs and reserved words between the words of a shell text."""

from __future__ import annotations

import re

from pilothouse_agent.permissions.shell.here_documents import HereDocuments
from pilothouse_agent.permissions.shell.words import Scanner, Unreadable, Word

__all__ = ["Tokens"]

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|time|\{|\}|!|\[\[)"
    r"(?=[ \t\n;&|<>()]|\\\n|$)"
)


class Tokens:
    def __init__(self, scan: Scanner, here: HereDocuments) -> None:
        self._scan = scan
        self._here = here

    def newline(self) -> bool:
        if not self._scan.take("\n"):
            return False
        self._here.read()
        return True

    def reserved(self) -> str | None:
        found = _RESERVED.match(self._scan.text, self._scan.pos)
        return found[1] if found else None

    def keyword(self, word: str) -> None:
        if self.reserved() != word:
            raise Unreadable(f"a missing {word!r}")
        self._scan.take(word)

    def expect(self, sign: str) -> None:
        self.skip_blanks()
        if not self.operator(sign):
            raise Unreadable(f"a missing {sign!r}")

    def operator(self, *signs: str) -> bool:
        taken = any(self._scan.take(sign) for sign in signs)
        if taken:
            self.refuse_continuation()
        return taken

    def refuse_continuation(self) -> None:
        # The shell joins the lines first, which may make another operator of this one.
        if self._scan.at("\\\n"):
            raise Unreadable("an operator at a joined line")

    def required_word(self) -> Word:
        word = self._scan.word()
        if word is None:
            raise Unreadable("a missing word")
        return word

    def skip_blanks(self, *, comments: bool = True) -> None:
        self._scan.match(_BLANKS)
        if comments and self._token_starts():
            self._scan.match(_COMMENT)

    def _token_starts(self) -> bool:
        return self._scan.pos == 0 or self._scan.text[self._scan.pos - 1] in " \t\n;&|<>()"

    def skip_lines(self, *, comments: bool = True) -> None:
        self.skip_blanks(comments=comments)
        while self.newline():
            self.skip_blanks(comments=comments)
