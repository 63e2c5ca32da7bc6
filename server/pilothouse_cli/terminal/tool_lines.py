"""Tool calls as lines: one for each when it has ended, below it what it changed or what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from pilothouse_cli.terminal.diff import changed_lines
from pilothouse_cli.terminal.style import Style
from pilothouse_cli.terminal.text import clip, duration, one_line
from pilothouse_server.wire.json_object import Json

__all__ = ["ToolLines"]


_CHANGED_LINES = 8
_ERROR_LINES = 4
_BESIDE_TITLE = 24
"""Columns kept free for outcome, counts and time."""
_INDENT = "  "


@dataclass(slots=True)
class _Call:
    title: str
    kind: str
    change: Json | None = None
    """The last `file_changed` of the call."""
    outcome: str = ""


class ToolLines:
    """Told of the events of every call; `width` is where lines are cut, None: nowhere."""

    def __init__(self, style: Style, *, width: Callable[[], int | None]) -> None:
        self._style = style
        self._width = width
        self._batch: dict[str, _Call] = {}
        self._last = ""
        """The call that the last line was about."""
        self.count = 0
        """Calls so far."""

    def begin_turn(self) -> None:
        self._batch.clear()

    def start(self, event: Json) -> None:
        self._batch[event["toolCallId"]] = _Call(one_line(event["title"]), event["kind"])
        self.count += 1

    def changed(self, event: Json) -> None:
        if call := self._batch.get(event["toolCallId"]):
            call.change = event

    def end(self, event: Json) -> list[str]:
        self._last = event["toolCallId"]
        call = self._batch.get(event["toolCallId"]) or _Call(one_line(event["toolName"]), "other")
        call.outcome = event["outcome"]
        if call.outcome == "ok" and call.kind == "think":
            return []  # its effect, a list of todos, has been shown
        lines = [self._line(call, event)]
        details = cast("Json", event.get("details") or {})
        if call.change is not None and isinstance(details.get("hunks"), list):
            changed = changed_lines(details["hunks"], self._style, limit=_CHANGED_LINES)
            lines += [f"{_INDENT}{_INDENT}{line}" for line in changed]
        return lines

    def failed(self, message: Json, text: str) -> list[str]:
        """The first lines of what a tool says went wrong; the last ones of a command's output."""
        call = self._batch.get(message["toolCallId"])
        if call is not None and call.outcome == "aborted":
            return []
        lines = [one_line(line) for line in text.splitlines() if any(map(str.isalnum, line))]
        last = call is not None and call.kind == "execute"
        kept = lines[-_ERROR_LINES:] if last else lines[:_ERROR_LINES]
        if call is not None and self._last != message["toolCallId"]:
            kept = [f"{call.title}:", *kept]
        return [self._inside(line, first=index == 0) for index, line in enumerate(kept)]

    def _line(self, call: _Call, event: Json) -> str:
        style, outcome = self._style, call.outcome
        paint = {"ok": style.green, "error": style.red}.get(outcome, style.yellow)
        facts = [] if call.change is None else [self._counts(call.change)]
        ran = outcome in ("ok", "error")
        facts.append(style.dim(duration(event["durationMs"])) if ran else paint(outcome))
        title = self._cut(call.title, _BESIDE_TITLE)
        return f"{_INDENT}{paint(style.sign(outcome))} {title}  {'  '.join(facts)}"

    def _counts(self, change: Json) -> str:
        minus = "−" if self._style.unicode else "-"
        added, removed = f"+{change['linesAdded']}", f"{minus}{change['linesRemoved']}"
        return f"{self._style.green(added)} {self._style.red(removed)}"

    def _inside(self, line: str, *, first: bool) -> str:
        sign = self._style.sign("inside") if first else " "
        return f"{_INDENT}{_INDENT}{self._style.dim(f'{sign} {self._cut(line, 6)}')}"

    def _cut(self, text: str, reserved: int) -> str:
        """`text` as far as it fits beside `reserved` columns."""
        width = self._width()
        return text if width is None else clip(text, max(20, width - reserved))
