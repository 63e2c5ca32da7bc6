"""Approvals asked on a terminal: one key answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from pilothouse_cli.run.question import ALL, REASON, answer_of, question, rejection
from pilothouse_cli.terminal.screen import Screen
from pilothouse_cli.terminal.style import Style
from pilothouse_server.wire.json_object import Json

__all__ = ["Keys", "TerminalApprover", "unaskable"]


_HELP = "Press one of the keys shown."


class Keys(Protocol):
    """Where answers are typed. Everything here may raise OSError."""

    def forget(self) -> None: ...

    def keys(self) -> Awaitable[str | None]: ...

    def line(self) -> Awaitable[str | None]: ...


def unaskable(error: OSError) -> str:
    return f"pilothouse: nobody can be asked on this terminal: {error.strerror or error}"


class TerminalApprover:
    """Answers `agent/requestApproval`. No answer means no; typing ahead does not count as one."""

    def __init__(
        self,
        screen: Screen,
        style: Style,
        keyboard: Keys,
        *,
        whole: Callable[[Json], Awaitable[Json]] | None = None,
    ) -> None:
        """`whole` gives a question with nothing of it cut."""
        self._screen = screen
        self._style = style
        self._keyboard = keyboard
        self._whole = whole
        self.asks = True
        """False once the terminal has turned out not to be askable."""

    async def __call__(self, params: Json) -> Json:
        if self.asks:
            try:
                return await self._answer(params)
            except OSError as error:
                self.asks = False
                self._screen.line(unaskable(error))
        return {"optionId": rejection(params["options"]), "reason": "nobody can be asked here"}

    async def _answer(self, params: Json) -> Json:
        self._show(params, cut=True)
        self._keyboard.forget()
        while True:
            typed = await self._typed()
            if typed is None:
                return {"optionId": rejection(params["options"])}
            if typed == REASON:
                return await self._with_reason(params)
            if typed == ALL:
                self._show(params if self._whole is None else await self._whole(params), cut=False)
            elif answer := answer_of(typed, params["options"]):
                return answer
            elif typed:
                self._screen.line(self._style.dim(f"  {_HELP}"))

    def _show(self, params: Json, *, cut: bool) -> None:
        width, height = (self._screen.width, self._screen.height) if cut else (None, None)
        for line in ["", *question(params, self._style, width=width, height=height)]:
            self._screen.line(line)

    async def _typed(self) -> str | None:
        """What was pressed, without blanks around it; an escape sequence, as of an arrow key, is nothing."""
        self._screen.ask(f"  {self._style.bold(self._style.sign('input'))} ")
        shown: str | None = None
        try:
            typed = await self._keyboard.keys()
            if typed is not None:
                shown = "" if typed.startswith("\x1b") else typed.strip()
        finally:
            self._screen.answered(shown)
        return shown

    async def _with_reason(self, params: Json) -> Json:
        typing = self._keyboard.line()
        self._screen.ask(f"  why {self._style.bold(self._style.sign('input'))} ")
        reason = None
        try:
            reason = await typing
        finally:
            self._screen.entered() if reason is not None else self._screen.answered(None)
        answer: Json = {"optionId": rejection(params["options"])}
        return {**answer, "reason": reason.strip()} if reason and reason.strip() else answer
