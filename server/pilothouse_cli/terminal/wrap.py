"""Streamed words broken between words at the edge of the terminal, not within one."""

from __future__ import annotations

import re

from pilothouse_cli.terminal.text import columns

__all__ = ["Wrap"]

_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_FENCE = "```"


class Wrap:
    """A word is held back until it is whole. Indented lines and fenced blocks stay as they are."""

    def __init__(self) -> None:
        self.column = 0
        """Where the cursor stands after what was given out."""
        self._word = ""
        """What may go on in the next piece."""
        self._gap = ""
        self._literal = False
        """The line begins with a blank, so it is laid out by whoever wrote it."""
        self._fenced = False

    def feed(self, text: str, width: int) -> str:
        tokens = _TOKEN.findall(self._word + text)
        self._word = tokens.pop() if tokens and not tokens[-1].isspace() else ""
        return "".join(self._placed(token, width) for token in tokens)

    def flush(self, width: int) -> str:
        """The word that was held back; the next thing written is not its continuation."""
        word, self._word = self._word, ""
        return self._placed(word, width) if word else ""

    def restart(self) -> None:
        """What comes next begins a line and has nothing to do with what came before."""
        self._begin_line()
        self._fenced = False

    def _begin_line(self) -> None:
        self.column, self._gap, self._literal = 0, "", False

    def _placed(self, token: str, width: int) -> str:
        if token == "\n":
            self._begin_line()
            return token
        if token.isspace():
            self._gap += token
            self._literal = self._literal or self.column == 0
            return ""
        if self.column == 0 and token.startswith(_FENCE):
            self._fenced = not self._fenced
            self._literal = True
        gap, self._gap = self._gap, ""
        size = columns(gap) + columns(token)
        if self.column and self.column + size > width and not (self._literal or self._fenced):
            self.column = columns(token)
            return "\n" + token
        self.column += size
        return gap + token
