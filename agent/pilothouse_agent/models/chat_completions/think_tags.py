"""Thinking that a server leaves in the text, between tags that open it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

__all__ = ["ThinkTags"]

_TAGS = ("<think>", "<thinking>", "<thought>")

Part = tuple[Literal["text", "thinking"], str]


class ThinkTags:
    """Splits only a tag that opens the text; one in the middle of prose is prose.

    A tag that is never closed makes all of it thinking. Blanks around the thinking are dropped.
    """

    def __init__(self) -> None:
        self._held = ""
        self._close = ""
        self._state: Literal["opening", "thinking", "closed", "text"] = "opening"

    @property
    def settled(self) -> bool:
        """All that follows is text; `feed` need not be asked any more."""
        return self._state == "text"

    def feed(self, text: str) -> Iterable[Part]:
        text, self._held = self._held + text, ""
        if self._state == "opening":
            return self._opening(text)
        if self._state == "thinking":
            return self._thinking(text)
        return self._text(text)

    def end(self) -> Iterable[Part]:
        """What was held back in case a tag would come of it."""
        held, self._held = self._held, ""
        thinking = self._state == "thinking"
        self._state = "text"
        if thinking:
            held = held.rstrip()
        return [("thinking" if thinking else "text", held)] if held else []

    def _opening(self, text: str) -> Iterable[Part]:
        start = text.lstrip()
        for tag in _TAGS:
            if start.startswith(tag):
                self._close = tag.replace("<", "</")
                self._state = "thinking"
                return self._thinking(start.removeprefix(tag).lstrip())
        if any(tag.startswith(start) for tag in _TAGS):
            self._held = text
            return []
        self._state = "text"
        return [("text", text)]

    def _thinking(self, text: str) -> Iterable[Part]:
        thought, close, rest = text.partition(self._close)
        if close:
            self._state = "closed"
            parts: list[Part] = [("thinking", thought.rstrip())] if thought.strip() else []
            return [*parts, *self._text(rest)]
        shown = text[: len(text) - _overlap(text, self._close)].rstrip()
        self._held = text[len(shown) :]
        return [("thinking", shown)] if shown else []

    def _text(self, text: str) -> Iterable[Part]:
        if self._state == "closed":
            text = text.lstrip()
        if not text:
            return []
        self._state = "text"
        return [("text", text)]


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text could be the beginning of the tag."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)
