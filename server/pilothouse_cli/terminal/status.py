"""What goes on right now, in one line that is overwritten by the next."""

from __future__ import annotations

from pilothouse_cli.terminal.style import Style
from pilothouse_cli.terminal.text import clip, duration, last_line, one_line
from pilothouse_server.wire.json_object import Json

__all__ = ["Status"]


_TITLE = 50
_STEP = 0.1
"""Seconds a picture of the spinner stays."""


class Status:
    """`event` takes the params of `agent/event` with the time they came, in seconds of any clock."""

    def __init__(self, style: Style, now: float) -> None:
        self._style = style
        self._doing = "starting"
        self._since = now
        self._turn = 0
        self._running: dict[str, str] = {}
        self._output = ""

    def event(self, event: Json, now: float) -> None:
        match event.get("type"):
            case "phase_change":
                self._phase(event, now)
            case "approval_resolved":
                self._since = now
            case "turn_start":
                self._turn = event["turn"]
            case "message_update":
                self._streaming(event["delta"], now)
            case "retry_scheduled":
                wait = duration(event["delayMs"])
                self._begin(f"retry: {event['attempt']} of {event['maxAttempts']}, waiting {wait}", now)
            case "message_end" if event["message"]["role"] in ("user", "toolResult", "custom"):
                self._begin("waiting for the model", now)
            case _:
                self._tool(event, now)

    def text(self, now: float, width: int) -> str:
        """Empty while the model's words come, which need no comment, and when nothing goes on."""
        if self._running:
            doing = self._tools()
        elif self._doing:
            doing = f"turn {self._turn}{self._style.separator}{self._doing}" if self._turn else self._doing
        else:
            return ""
        elapsed = now - self._since
        time = f"{self._style.separator}{elapsed:.0f} s" if elapsed >= 1 else ""
        spinner = self._style.spinner(int(now / _STEP))
        return f"{self._style.cyan(spinner)} {self._style.dim(clip(doing + time + self._output, width - 2))}"

    def _begin(self, doing: str, now: float) -> None:
        if doing != self._doing:
            self._doing, self._since = doing, now

    def _phase(self, event: Json, now: float) -> None:
        match event["to"]:
            case "idle":
                self._begin("", now)
            case "compaction":
                self._begin("compacting the context", now)
            case "retry":
                self._begin("retry", now)
            case _:
                self._begin("waiting for the model", now)

    def _streaming(self, delta: Json, now: float) -> None:
        match delta["kind"]:
            case "text":
                self._begin("", now)
            case "thinking":
                self._begin("thinking", now)
            case _:
                name = delta.get("toolName")
                self._begin(f"preparing {one_line(name)}" if name else self._doing or "preparing a call", now)

    def _tool(self, event: Json, now: float) -> None:
        match event.get("type"):
            case "tool_execution_start":
                if not self._running:
                    self._since = now
                self._running[event["toolCallId"]] = clip(one_line(event["title"]), _TITLE)
            case "tool_execution_update":
                line = last_line(event["progress"]["text"])
                self._output = f" │ {line}" if line and self._style.unicode else self._output
            case "tool_execution_end":
                self._running.pop(event["toolCallId"], None)
                self._output = ""
            case _:
                pass

    def _tools(self) -> str:
        titles = list(self._running.values())
        return titles[0] if len(titles) == 1 else f"{len(titles)} tools: {', '.join(titles)}"
