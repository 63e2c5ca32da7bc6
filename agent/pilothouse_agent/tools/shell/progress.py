"""Output of a running command on its way to the display, in batches."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

__all__ = ["Progress"]

_BATCH_LIMIT = 65_536
_MUCH = 524_288
_SMALL_BATCH, _LONG_INTERVAL = 4_096, 0.5
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]"
)
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\n]{0,256}\x1b?)?|\r)$")
_OTHER_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")


class Progress:
    """Reports new text at once when it has been quiet, else at most once in `interval` seconds.

    A flood is thinned: of one interval's text only the last 64 Ki characters are reported, behind a
    note; after half a million in all, 4 Ki in half a second. Belongs to the running event loop.
    """

    def __init__(self, report: Callable[[str], None], *, interval: float = 0.1) -> None:
        self._report = report
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._batch: list[str] = []
        self._length = 0
        self._dropped = 0
        self._limit = _BATCH_LIMIT
        self._reported = 0
        self._held = ""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        self._batch.append(text)
        self._length += len(text)
        if self._length > 2 * self._limit:
            self._thin()
        if self._timer is None:
            self._send()

    def drop(self, count: int) -> None:
        """So many characters have come of which nothing is to be reported."""
        self._dropped += count

    def close(self) -> None:
        """Report what is left; nothing may be added afterwards."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flush(self._take())

    def _send(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._tick)
        text = self._take()
        unfinished = _UNFINISHED.search(text, max(0, len(text) - 300))
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        self._flush(text[:cut])

    def _tick(self) -> None:
        self._timer = None
        if self._batch:
            self._send()

    def _take(self) -> str:
        if self._length > self._limit:
            self._thin()
        text = self._held + "".join(self._batch)
        self._batch, self._length, self._held = [], 0, ""
        return text

    def _flush(self, text: str) -> None:
        shown = _plain(text)
        if self._dropped:
            shown, self._dropped = f"\n[{self._dropped:,} characters not shown]\n{shown}", 0
        if shown:
            self._report(shown)
            self._reported += len(shown)
            if self._reported > _MUCH:
                self._limit, self._interval = _SMALL_BATCH, max(self._interval, _LONG_INTERVAL)

    def _thin(self) -> None:
        text = "".join(self._batch)
        self._dropped += len(text) - self._limit
        self._batch = [text[-self._limit :]]
        self._length = self._limit


def _plain(text: str) -> str:
    """Without control sequences; every carriage return starts a line, a NUL is shown."""
    if not text.isprintable():
        text = _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\u2400")
        text = _OTHER_CONTROL.sub("", text)
    return text
