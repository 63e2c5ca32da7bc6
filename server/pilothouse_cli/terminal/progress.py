"""A run as it is told to a person: events in, the model's words and whole lines out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pilothouse_cli.terminal.style import Style
from pilothouse_cli.terminal.summary import summary
from pilothouse_cli.terminal.text import duration, one_line, prose
from pilothouse_cli.terminal.todo_lines import TodoLines
from pilothouse_cli.terminal.tool_lines import ToolLines
from pilothouse_server.wire.json_object import Json

__all__ = ["Line", "Progress", "Shown", "Words"]


@dataclass(frozen=True, slots=True)
class Words:
    """What the model says, as it comes; lines end where it ends them."""

    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of its own."""

    text: str


Shown: TypeAlias = Words | Line


class Progress:
    """Keeps what it needs of a run; `event` takes the params of `agent/event` in order."""

    def __init__(
        self,
        style: Style,
        *,
        live: bool,
        place: str = "",
        width: Callable[[], int | None] = lambda: None,
    ) -> None:
        """`live`: words are shown as they come, the final answer's too, and a status line says the rest.
        Otherwise a message is shown when it has ended, but not the answer. `place` is where the agent
        works; `width` is where tool lines are cut."""
        self._style = style
        self._live = live
        self._place = place
        self._tools = ToolLines(style, width=width)
        self._todos = TodoLines(style)
        self._said = False
        """The message being streamed has shown words."""
        self._turns = 0
        self._milliseconds = 0
        self._tellers: dict[str, Callable[[Json], list[Shown]]] = {
            "agent_start": self._agent_start,
            "turn_start": self._turn_start,
            "message_start": self._message_start,
            "message_update": self._message_update,
            "message_end": self._message_end,
            "tool_execution_start": self._tool_start,
            "tool_execution_end": lambda event: _lines(self._tools.end(event)),
            "file_changed": self._file_changed,
            "todo_update": lambda event: _lines(self._todos.update(event["todos"])),
            "retry_scheduled": self._retry_scheduled,
            "compaction_end": self._compaction_end,
            "notice": self._notice,
            "agent_end": self._agent_end,
        }

    def event(self, event: Json) -> list[Shown]:
        teller = self._tellers.get(event.get("type", ""))
        return [] if teller is None else teller(event)

    def result(self, result: Json) -> list[Shown]:
        """How it ended: a line, and for an error what it was."""
        numbers = {"turns": self._turns, "calls": self._tools.count, "milliseconds": self._milliseconds}
        return _lines(summary(result, self._style, **numbers))

    def _agent_start(self, event: Json) -> list[Shown]:
        place = f" in {self._place}" if self._place else ""
        about = one_line(_model_name(event["model"]) + place)
        return [Line(f"{self._style.bold('pilothouse')} {self._style.dim(about)}")]

    def _turn_start(self, event: Json) -> list[Shown]:
        self._turns = event["turn"]
        self._tools.begin_turn()
        return []

    def _message_start(self, event: Json) -> list[Shown]:
        self._said = False
        return []

    def _message_update(self, event: Json) -> list[Shown]:
        delta = event["delta"]
        if not self._live or delta["kind"] != "text":
            return []
        self._said = True
        return [Words(prose(delta["text"]))]

    def _message_end(self, event: Json) -> list[Shown]:
        message = event["message"]
        match message["role"]:
            case "assistant":
                return self._assistant_end(message)
            case "toolResult" if message["isError"]:
                return _lines(self._tools.failed(message, _text(message)))
            case "custom":
                return [self._note("note", f"the model is told: {_text(message)}")]
            case "user" if "queueId" in message:
                return [self._note("input", _text(message))]
            case _:
                return []

    def _assistant_end(self, message: Json) -> list[Shown]:
        shown: list[Shown] = []
        broken = message["stopReason"] == "interrupted"
        calls = any(block["type"] == "toolCall" for block in message["content"])
        unsaid = not self._said if self._live else (broken or calls)
        if unsaid and (text := _text(message)):
            shown.append(Words(prose(text)))
        if broken:
            error: Json = message.get("error") or {"message": "the connection was lost"}
            shown.append(self._note("warning", f"the answer broke off: {error['message']}"))
        return shown

    def _tool_start(self, event: Json) -> list[Shown]:
        self._tools.start(event)
        return []

    def _file_changed(self, event: Json) -> list[Shown]:
        self._tools.changed(event)
        return []

    def _retry_scheduled(self, event: Json) -> list[Shown]:
        attempt = f"retry {event['attempt']} of {event['maxAttempts']} in {duration(event['delayMs'])}"
        return [self._note("retry", f"{attempt}: {event['reason']}")]

    def _compaction_end(self, event: Json) -> list[Shown]:
        if error := event.get("error"):
            return [self._note("warning", f"the context could not be compacted: {error['message']}")]
        sizes = f"{event['tokensBefore']:,} to {event['tokensAfter']:,} tokens"
        return [self._note("note", f"context compacted from {sizes}")]

    def _notice(self, event: Json) -> list[Shown]:
        sign = {"info": "note", "warning": "warning"}.get(event["level"], "error")
        return [self._note(sign, event["message"])]

    def _agent_end(self, event: Json) -> list[Shown]:
        self._milliseconds = event["durationMs"]
        return []

    def _note(self, sign: str, text: str) -> Line:
        style = self._style
        paint = {"note": style.dim, "input": style.cyan, "error": style.red}.get(sign, style.yellow)
        return Line("  " + paint(f"{style.sign(sign)} {one_line(text)}"))


def _model_name(model: str) -> str:
    """A script is known by its file, not by the whole path."""
    provider, _, name = model.partition("/")
    return f"{provider}/{name.rpartition('/')[2]}" if provider == "scripted" else model


def _lines(texts: list[str]) -> list[Shown]:
    return [Line(text) for text in texts]


def _text(message: Json) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")
