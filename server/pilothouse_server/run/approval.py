"""Approvals asked on a terminal: what is to be done in full, then the answers there are."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeAlias

from pilothouse_agent.tools.visible import visible
from pilothouse_server.document_uris import path_of
from pilothouse_server.terminal.diff import hunk_lines
from pilothouse_server.terminal.screen import Screen
from pilothouse_server.terminal.style import Style
from pilothouse_server.terminal.text import one_line

__all__ = ["TerminalApprover", "answer_of", "question_lines"]

Json: TypeAlias = dict[str, Any]

_KEYS = {"allowOnce": "y", "allowAlways": "a", "rejectOnce": "n", "rejectAlways": "d"}
_STOP = "s"
_HELP = "Type one of the letters; behind n or s you may say why."


class Lines(Protocol):
    """Where answers are typed."""

    def forget(self) -> None: ...

    def line(self) -> Awaitable[str | None]: ...


class TerminalApprover:
    """Answers `agent/requestApproval`. No answer means no; typing ahead does not count as one."""

    def __init__(self, screen: Screen, style: Style, keyboard: Lines) -> None:
        self._screen = screen
        self._style = style
        self._keyboard = keyboard

    async def __call__(self, params: Json) -> Json:
        for line in ["", *question_lines(params, self._style)]:
            self._screen.line(line)
        self._keyboard.forget()
        while True:
            typed = await self._typed()
            if typed is None:
                return {"optionId": _first(params["options"], "rejectOnce")}
            answer = answer_of(typed, params["options"])
            if answer is not None:
                return answer
            self._screen.line(self._style.dim(f"  {_HELP}"))

    async def _typed(self) -> str | None:
        typed: str | None = None
        self._screen.ask(f"  {self._style.bold(self._style.sign('input'))} ")
        try:
            typed = await self._keyboard.line()
        finally:
            self._screen.answered(ended_line=typed is not None)
        return typed


def question_lines(params: Json, style: Style) -> list[str]:
    """Nothing of a command or a diff is left out: what is not seen is not approved."""
    risk = {"high": style.red, "medium": style.yellow}.get(params["risk"], style.dim)
    lines = [f"{style.yellow('?')} {style.bold(one_line(params['title']))}  {risk(params['risk'] + ' risk')}"]
    if command := params.get("command"):
        lines += [f"  {style.dim('$')} {line}" for line in visible(command, lines=True).split("\n")]
    diffs: list[Json] = params.get("diffs") or []
    for diff in diffs:
        lines += [f"  {line}" for line in _diff_lines(diff, style)]
    return [*lines, *_option_lines(params["options"], style)]


def answer_of(typed: str, options: list[Json]) -> Json | None:
    """The result of the request: a letter or a number, then a reason. None when it is none of them."""
    key, _, reason = typed.strip().partition(" ")
    chosen = _chosen(key.lower(), options)
    if chosen is None:
        return None
    answer: Json = {"optionId": chosen}
    if reason.strip():
        answer["reason"] = reason.strip()
    return {**answer, "stop": True} if key.lower() == _STOP else answer


def _chosen(key: str, options: list[Json]) -> str | None:
    if key == _STOP:
        return _first(options, "rejectOnce")
    return next((option["id"] for letter, option in _lettered(options) if letter == key), None)


def _lettered(options: list[Json]) -> list[tuple[str, Json]]:
    """Each with what chooses it: the letter of its kind, a number for a second one of a kind."""
    taken: set[str] = set()
    lettered: list[tuple[str, Json]] = []
    for number, option in enumerate(options, 1):
        letter = _KEYS.get(option["kind"], "")
        key = letter if letter and letter not in taken else str(number)
        taken.add(key)
        lettered.append((key, option))
    return lettered


def _first(options: list[Json], kind: str) -> str:
    return next((option["id"] for option in options if option["kind"] == kind), "reject")


def _diff_lines(diff: Json, style: Style) -> list[str]:
    uri = str(diff["uri"])
    name = one_line(path_of(uri) or uri)
    if "oldText" not in diff:
        name += " (new file)"
    elif "newText" not in diff:
        name += " (deleted)"
    return [style.bold(name), *hunk_lines(diff["hunks"], style)]


def _option_lines(options: list[Json], style: Style) -> list[str]:
    lines: list[str] = []
    for key, option in _lettered(options):
        scope = f": {visible(option['scope'])}" if option.get("scope") else ""
        lines.append(f"  {style.cyan(key)}  {one_line(option['label'])}{style.dim(scope)}")
    return [*lines, f"  {style.cyan(_STOP)}  Reject and stop the run"]
