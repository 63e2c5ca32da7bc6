"""Writes what happens in a session into its log, before anybody else hears of it (J3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    CompactionEnd,
    Event,
    FileChanged,
    MessageEnd,
    Notice,
    QueueUpdate,
    SessionUpdate,
    TodoUpdate,
)
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import Message, TextBlock, Usage, UserMessage
from pilothouse_agent.kernel.parts import random_id
from pilothouse_agent.session.log.message_json import (
    error_to_json,
    message_to_json,
    queued_to_json,
    usage_to_json,
)
from pilothouse_agent.session.log.records import Record, line_of, now
from pilothouse_agent.session.log.writer import LogWriter

__all__ = ["Scribe", "Standing", "title_of"]

_WAIT = 1.0
"""Seconds that a run waits for the disk at a time."""
_TITLE = 80


@dataclass(slots=True)
class Standing:
    """What the next records are compared with, so that only what changes is written."""

    head: str | None = None
    messages: dict[str, Message] = field(default_factory=dict[str, Message])
    """As the log has them, by id."""
    system: str | None = None
    title: str | None = None
    prompt: str = ""
    """The beginning of the first prompt."""
    usage: Usage | None = None
    queued: bool = False
    """The last record of the queue is not of an empty one."""


class Scribe:
    """The first listener of an agent. What the disk refuses is told once and written later (J5)."""

    def __init__(
        self,
        writer: LogWriter,
        *,
        standing: Standing,
        opening: Sequence[JsonObject],
        messages: Callable[[], Sequence[Message]],
        system: Callable[[], str],
        model: Callable[[], str],
    ) -> None:
        """`opening`: what is written in front of the first record: type and fields of each. The functions
        say how the agent stands now."""
        self.standing = standing
        self._writer = writer
        self._opening = list(opening)
        self._held: list[bytes] = []
        self._messages = messages
        self._system = system
        self._model = model
        self._changed: list[JsonValue] = []

    def __call__(self, event: Event) -> Awaitable[None] | None:
        """Only what clients may rely on is waited for: messages, what is queued, and the end of a run."""
        match event:
            case MessageEnd():
                return self._message(event.message)
            case AgentEnd():
                return self._end(event)
            case QueueUpdate():
                return self._queue(event)
            case AgentStart():
                self._start(event)
            case TodoUpdate():
                todos: list[JsonValue] = [
                    {"content": todo.content, "status": todo.status} for todo in event.todos
                ]
                # The result of its call follows.
                self._hold({"type": "todos", "todos": todos})
            case SessionUpdate():
                return self._update(event)
            case CompactionEnd() if event.error is None:
                self._compaction(event)
            case FileChanged():
                self._changed.append({"path": event.path, "change": event.change})
            case _:
                pass
        return None

    def write(self, *values: JsonObject, sync: bool = False) -> Awaitable[None] | None:
        """Append records in one piece; `type` and fields of each."""
        self._hold(*values)
        lines, self._held = b"".join(self._held), []
        return self._writer.append(lines, sync=sync, limit=_WAIT) if lines else None

    def _hold(self, *values: JsonObject) -> None:
        """Write them with what comes next: each piece by itself costs a change of threads."""
        for value in (*self._opening, *values):
            fields = dict(value)
            kind, record_id = str(fields.pop("type")), str(fields.pop("recordId", "")) or random_id("entry")
            record = Record(record_id, self.standing.head, now(), kind, fields)
            self.standing.head = record.id
            self._held.append(line_of(record.to_json()))
        self._opening = []

    def rename(self, title: str) -> Awaitable[None] | None:
        self.standing.title = title
        value: JsonObject = {"type": "title", "title": title}
        if self._opening:
            self._opening.append(value)
            return None
        return self.write(value, sync=True)

    def move(self, standing: Standing, *, to: str | None) -> Awaitable[None] | None:
        """Go on from an earlier record; `standing` is how the conversation stood there."""
        self.standing = standing
        return self.write({"type": "head", "to": to}, sync=True)

    async def close(self, limit: float) -> bool:
        """Whether all of it could be written."""
        if self._held:
            self.write()
        return await self._writer.close(limit)

    def _message(self, message: Message) -> Awaitable[None] | None:
        standing = self.standing
        standing.messages[message.id] = message
        if isinstance(message, UserMessage) and not standing.prompt:
            standing.prompt = "".join(b.text for b in message.content if isinstance(b, TextBlock))[:2000]
        usage: Usage | None = getattr(message, "usage", None)
        if usage is not None:
            standing.usage = usage if standing.usage is None else standing.usage + usage
        record: JsonObject = {"type": "message", "recordId": message.id, "message": message_to_json(message)}
        if standing.title is None and standing.prompt:
            standing.title = title_of(standing.prompt)
            return self.write(record, {"type": "title", "title": standing.title}, sync=True)
        return self.write(record, sync=isinstance(message, UserMessage))

    def _start(self, event: AgentStart) -> None:
        self._changed = []
        run: JsonObject = {"type": "run", "runId": event.run_id, "state": "start", "model": event.model}
        if event.prompt_id is not None:
            run["promptId"] = event.prompt_id
        self._hold(*self._new_system(), run)

    def _end(self, event: AgentEnd) -> Awaitable[None] | None:
        run: JsonObject = {
            "type": "run",
            "runId": event.run_id,
            "state": "end",
            "stopReason": event.stop_reason,
            "returned": [queued_to_json(item) for item in event.returned],
            "durationMs": event.duration_ms,
            "summary": self._summary(),
        }
        if event.error is not None:
            run["error"] = error_to_json(event.error)
        changes: list[JsonObject] = []
        if self._changed:
            changes.append({"type": "changes", "runId": event.run_id, "files": self._changed})
        return self.write(*changes, run, sync=True)

    def _summary(self) -> JsonObject:
        """What a list of sessions says of this one, so that it need read no more than the end of the log."""
        standing = self.standing
        summary: JsonObject = {
            "title": standing.title or "",
            "prompt": standing.prompt[:200],
            "model": self._model(),
            "messages": len(standing.messages),
        }
        if standing.usage is not None:
            summary["usage"] = usage_to_json(standing.usage)
        return summary

    def _update(self, event: SessionUpdate) -> Awaitable[None] | None:
        values: list[JsonObject] = []
        for kind in ("title", "model", "mode", "thinking"):
            value = getattr(event, kind)
            if value is not None and (kind != "title" or value != self.standing.title):
                values.append({"type": kind, kind: value})
        self.standing.title = event.title or self.standing.title
        # Nothing is written of a session in which nothing was ever said; what holds then stands in front.
        if self._opening:
            self._opening += values
            return None
        return self.write(*values)

    def _compaction(self, event: CompactionEnd) -> None:
        """The view that is left, by ids; messages that the log does not have so come whole."""
        view = self._messages()
        known = self.standing.messages
        new = [message for message in view if known.get(message.id) is not message]
        record: JsonObject = {
            "type": "compaction",
            "reason": event.reason,
            "tokensBefore": event.tokens_before,
            "tokensAfter": event.tokens_after,
            "view": [message.id for message in view],
            "messages": [message_to_json(message) for message in new],
        }
        if event.summary is not None:
            record["summary"] = event.summary
        known.update((message.id, message) for message in new)
        self.write(record)

    def _queue(self, event: QueueUpdate) -> Awaitable[None] | None:
        queued = [*event.steering, *event.follow_up]
        if not queued and not self.standing.queued:
            return None
        self.standing.queued = bool(queued)
        items: list[JsonValue] = [queued_to_json(item) for item in queued]
        return self.write({"type": "custom", "name": "queue", "data": {"items": items}})

    def _new_system(self) -> list[JsonObject]:
        system = self._system()
        if system == self.standing.system:
            return []
        self.standing.system = system
        return [{"type": "system", "system": system}]


def title_of(prompt: str) -> str:
    """The first line that says something, cut at a word."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    if len(line) <= _TITLE:
        return line
    cut = line[:_TITLE].rsplit(None, 1)[0] if " " in line[:_TITLE] else line[: _TITLE - 1]
    return f"{cut}…"


def unsaved_notice(reason: str | None) -> Notice:
    """For the user, once when the log cannot be written and once when it stands again."""
    if reason is None:
        return Notice("info", "The session is saved again; nothing of it is missing.", "saved")
    return Notice(
        "error",
        f"The session cannot be saved ({reason}). It goes on; what is missing is written when there is room.",
        "unsaved",
    )
