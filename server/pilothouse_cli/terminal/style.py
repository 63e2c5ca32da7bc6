"""Colours and signs, as far as the terminal has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

__all__ = ["PLAIN", "Stream", "Style", "style_of"]

_SIGNS = {
    "ok": ("✓", "+"),
    "error": ("✗", "x"),
    "denied": ("⊘", "-"),
    "blocked": ("⊘", "-"),
    "aborted": ("■", "#"),
    "retry": ("↻", "~"),
    "note": ("·", "-"),
    "warning": ("!", "!"),
    "inside": ("└", "\\"),
    "done": ("☑", "[x]"),
    "doing": ("▸", "[>]"),
    "open": ("☐", "[ ]"),
    "input": ("›", ">"),
}
_SPINNER = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")


class Stream(Protocol):
    """What is asked of a text stream."""

    @property
    def encoding(self) -> str: ...

    def isatty(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Style:
    colour: bool
    unicode: bool
    """Whether signs beyond ASCII can be shown."""

    def dim(self, text: str) -> str:
        return self._painted("2", text)

    def bold(self, text: str) -> str:
        return self._painted("1", text)

    def red(self, text: str) -> str:
        return self._painted("31", text)

    def green(self, text: str) -> str:
        return self._painted("32", text)

    def yellow(self, text: str) -> str:
        return self._painted("33", text)

    def cyan(self, text: str) -> str:
        return self._painted("36", text)

    def sign(self, name: str) -> str:
        return _SIGNS[name][0 if self.unicode else 1]

    @property
    def separator(self) -> str:
        return " · " if self.unicode else ", "

    def spinner(self, step: int) -> str:
        frames = _SPINNER[0 if self.unicode else 1]
        return frames[step % len(frames)]

    def _painted(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


PLAIN = Style(colour=False, unicode=True)


def style_of(stream: Stream, environment: Mapping[str, str]) -> Style:
    """Colours on a terminal only, and never with NO_COLOR."""
    unicode = stream.encoding.lower().replace("-", "") in ("utf8", "utf8sig")
    if not stream.isatty():
        return Style(colour=False, unicode=unicode)
    colour = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Style(colour=colour, unicode=unicode)
