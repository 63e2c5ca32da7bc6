"""The beginning and the end of a long text, taken as it streams by."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_agent.tools.limits import MAX_BYTES, MAX_LINES, head_of, tail_of

__all__ = ["Excerpt", "Extract"]

_HEAD_LINES = 50
_HEAD_SHARE = 10


@dataclass(frozen=True, slots=True)
class Extract:
    """What is shown of a text; when it is not complete, something is missing between head and tail."""

    head: str
    tail: str
    complete: bool
    omitted_lines: int = 0
    """Whole lines left out; 0 when only parts of a line are."""
    omitted_characters: int = 0


class Excerpt:
    """Keeps a text whole up to both limits; beyond them a short head and the last lines.

    The tail alone may have `lines` lines, the head comes on top of them; both together stay within
    `size` bytes of UTF-8. Memory is bounded by a small multiple of `size`.
    """

    def __init__(self, *, lines: int = MAX_LINES, size: int = MAX_BYTES) -> None:
        self._line_limit = lines
        self._size_limit = size
        self._head = ""
        self._recent: list[str] = []
        self._recent_length = 0
        self._length = 0
        self._line_ends = 0

    def add(self, text: str) -> None:
        if not text:
            return
        # One character more than the head may have shows where its last line must be cut.
        self._head += text[: self._head_size + 1 - len(self._head)]
        self._recent.append(text)
        self._recent_length += len(text)
        self._length += len(text)
        self._line_ends += text.count("\n")
        if self._recent_length > 2 * self._size_limit:
            self._forget()

    def skip(self, lines: int, characters: int) -> None:
        """Leave out all but the head of what has come so far, and so much more that is not to be had."""
        self._recent, self._recent_length = [], 0
        self._length += characters
        self._line_ends += lines

    def extract(self) -> Extract:
        recent = "".join(self._recent)
        tail = tail_of(recent, lines=self._line_limit, size=self._size_limit)
        if tail.complete and self._length == len(recent):
            return Extract("", recent, complete=True)
        tail = tail_of(recent, lines=self._line_limit, size=self._size_limit - self._head_size)
        lines = self._line_ends + (not recent.endswith("\n"))
        head = self._start(lines - _shown(tail.text) - 1, self._length - len(tail.text))
        return Extract(
            head,
            tail.text,
            complete=False,
            omitted_lines=max(0, lines - _shown(tail.text) - _shown(head)),
            omitted_characters=self._length - len(head) - len(tail.text),
        )

    def _start(self, lines: int, length: int) -> str:
        """At most so many lines of the beginning, and less than `length` characters."""
        lines = max(1, min(lines, _HEAD_LINES))
        head = head_of(self._head, lines=lines, size=self._head_size).text
        return head if len(head) < length else ""

    @property
    def _head_size(self) -> int:
        return self._size_limit // _HEAD_SHARE

    def _forget(self) -> None:
        self._recent = ["".join(self._recent)[-self._size_limit :]]
        self._recent_length = len(self._recent[0])


def _shown(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))
