"""A run as a person likes to watch it; the answer alone goes to standard output."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from pilothouse_cli.run.view import Json, complaint_of
from pilothouse_cli.terminal.progress import Line, Progress, Shown, Words
from pilothouse_cli.terminal.screen import Screen
from pilothouse_cli.terminal.status import Status
from pilothouse_cli.terminal.style import Style
from pilothouse_cli.terminal.text import one_line

__all__ = ["QuietView", "TextView"]

_TICK = 0.1


class TextView:
    """Tells the run on `screen`; `answer` takes the final text at the end.

    With `live` the words come as they are streamed and a status line says what goes on; `answer` is
    None when the screen shows standard output too, so that the answer has been seen already.
    """

    def __init__(
        self,
        screen: Screen,
        style: Style,
        *,
        live: bool,
        answer: Callable[[str], None] | None,
        place: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = screen
        self._style = style
        self._answer = answer
        self._clock = clock
        self._status = Status(style, clock()) if live else None
        width = (lambda: screen.width) if live else (lambda: None)
        self._progress = Progress(style, live=live, place=place, width=width)
        self._ticking = asyncio.create_task(self._tick()) if live else None

    def event(self, event: Json) -> None:
        if self._status is not None:
            self._status.event(event, self._clock())
        self._show(self._progress.event(event))
        self._show_status()

    def result(self, result: Json) -> None:
        self._stop_ticking()
        self._screen.end()
        if self._answer is not None:
            self._answer(result["text"])
        self._show(self._progress.result(result))

    def stopping(self, why: str) -> None:
        self._screen.line(self._style.yellow(f"{self._style.sign('aborted')} {why}"))

    def _show(self, items: list[Shown]) -> None:
        for item in items:
            match item:
                case Words():
                    self._screen.say(item.text)
                case Line():
                    self._screen.line(item.text)

    def _show_status(self) -> None:
        if self._status is not None:
            self._screen.status(self._status.text(self._clock(), self._screen.room))

    async def _tick(self) -> None:
        while True:
            self._show_status()
            await asyncio.sleep(_TICK)

    def _stop_ticking(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        self._status = None


class QuietView:
    """The answer, and what went wrong."""

    def __init__(self, screen: Screen, answer: Callable[[str], None]) -> None:
        self._screen = screen
        self._answer = answer

    def event(self, event: Json) -> None:
        if complaint := complaint_of(event):
            self._screen.line(f"pilothouse: {complaint}")

    def result(self, result: Json) -> None:
        self._answer(result["text"])
        if error := result.get("error"):
            self._screen.line(f"pilothouse: {one_line(error['message'])}")

    def stopping(self, why: str) -> None:
        return None
