"""What a log says of how its session stood: everything that was acknowledged, and what has to be mended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast, get_args

from pilothouse_agent.kernel.events import QueuedItem, Todo, TodoStatus
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    Message,
    TextBlock,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from pilothouse_agent.kernel.parts import random_id
from pilothouse_agent.kernel.transcript import INTERRUPTED
from pilothouse_agent.session.log.message_json import message_of, queued_of
from pilothouse_agent.session.log.records import Record
from pilothouse_agent.session.log.scribe import Standing

__all__ = ["Restored", "restored"]

_STATUSES = get_args(TodoStatus)


@dataclass(slots=True)
class Restored:
    """A session as its log left it."""

    messages: list[Message] = field(default_factory=list[Message])
    """What the next request is made from."""
    interrupted: list[ToolResultMessage] = field(default_factory=list[ToolResultMessage])
    """Results of calls that never ended; the last of `messages`, and not in the log yet."""
    returned: list[QueuedItem] = field(default_factory=list[QueuedItem])
    """Steering and follow-ups that reached nobody."""
    todos: tuple[Todo, ...] = ()
    title: str | None = None
    model: str | None = None
    thinking: str | None = None
    mode: str | None = None
    unfinished_run: str | None = None
    """Of the run that was under way when its process ended."""
    standing: Standing = field(default_factory=Standing)


def restored(path: Iterable[Record]) -> Restored:
    """`path`: the records that lead to where the conversation stands, oldest first."""
    state = Restored()
    known = state.standing.messages
    for record in path:
        data = record.data
        state.standing.head = record.id
        match record.type:
            case "message":
                message = message_of(data.get("message"))
                if message is not None:
                    known[message.id] = message
                    state.messages.append(message)
                    _heard(state, message)
            case "compaction":
                _compacted(state, data)
            case "todos":
                state.todos = tuple(todo for value in _list(data.get("todos")) if (todo := _todo(value)))
            case "title" | "model" | "thinking" | "mode" as kind:
                setattr(state, kind, _text(data.get(kind)) or getattr(state, kind))
            case "system":
                state.standing.system = _text(data.get("system"))
            case "run":
                _run(state, data)
            case "custom" if data.get("name") == "queue":
                items = data.get("data")
                listed = _list(items.get("items")) if isinstance(items, dict) else []
                state.returned = [item for value in listed if (item := queued_of(value)) is not None]
            case _:
                continue
    state.standing.title = state.title
    _end_calls(state)
    return state


def _heard(state: Restored, message: Message) -> None:
    """A message takes what it delivers off the queue."""
    standing = state.standing
    if isinstance(message, UserMessage):
        state.returned = [item for item in state.returned if item.queue_id != message.queue_id]
        standing.prompt = standing.prompt or text_of(message.content)[:2000]
    elif isinstance(message, AssistantMessage) and message.usage is not None:
        standing.usage = message.usage if standing.usage is None else standing.usage + message.usage


def _compacted(state: Restored, data: JsonObject) -> None:
    known = state.standing.messages
    for value in _list(data.get("messages")):
        if (message := message_of(value)) is not None:
            known[message.id] = message
    view = [known[name] for name in map(str, _list(data.get("view"))) if name in known]
    if view:
        state.messages = view


def _run(state: Restored, data: JsonObject) -> None:
    if data.get("state") == "start":
        state.unfinished_run = _text(data.get("runId"))
        return
    state.unfinished_run = None
    # What its end gave back was told to the client then.
    state.returned = []


def _end_calls(state: Restored) -> None:
    """Each call of the last answer that has no result gets one that says so."""
    answered = {message.tool_call_id for message in state.messages if isinstance(message, ToolResultMessage)}
    last = next((m for m in reversed(state.messages) if isinstance(m, AssistantMessage)), None)
    if last is None:
        return
    state.interrupted = [
        ToolResultMessage(
            random_id("msg"), (TextBlock(INTERRUPTED),), datetime.now(UTC), call.id, call.name, is_error=True
        )
        for call in last.calls
        if call.id not in answered
    ]
    state.messages += state.interrupted


def _todo(value: JsonValue) -> Todo | None:
    match value:
        case {"content": str(content), "status": str(status)} if status in _STATUSES:
            return Todo(content, cast("TodoStatus", status))
        case _:
            return None


def _list(value: JsonValue | None) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _text(value: JsonValue | None) -> str | None:
    return value if isinstance(value, str) else None
