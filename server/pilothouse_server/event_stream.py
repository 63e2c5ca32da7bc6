"""A session's events on their way out: numbered, stamped and merged as they leave (E6)."""

from __future__ import annotations

from datetime import UTC, datetime

from pilothouse_agent.kernel.events import (
    Event,
    MessageEnd,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionUpdate,
)
from pilothouse_server import method_names as names
from pilothouse_server.journal import Journal
from pilothouse_server.transport.codec import encode
from pilothouse_server.transport.outbox import Outgoing
from pilothouse_server.wire import event_to_wire, timestamp

__all__ = ["EventStream", "OutgoingEvent"]

_PROGRESS_ROOM = 64 * 1024
"""Characters of merged tool progress kept; older ones are dropped and counted."""
_OVERHEAD = 300
_HEAD = b'{"jsonrpc":"2.0","method":"%b","params":' % names.EVENT.encode()


class EventStream:
    """Numbers the events of one session; `epoch` changes with the server process."""

    def __init__(self, session_id: str, epoch: str) -> None:
        self.session_id = session_id
        self.epoch = epoch
        self.seq = 0
        """Of the last event that left."""
        self.journal = Journal()

    def encoded(self, event: Event, run_id: str | None, time: datetime) -> bytes:
        """The params of the notification for an event that leaves now."""
        self.seq += 1
        params = {
            "sessionId": self.session_id,
            "runId": run_id,
            "epoch": self.epoch,
            "seq": self.seq,
            "time": timestamp(time),
            **event_to_wire(event),
        }
        body = encode(params)
        match event:
            case MessageUpdate():
                self.journal.add(self.seq, body, update_of=event.message_id)
            case ToolExecutionUpdate():
                self.journal.add(self.seq, body, update_of=event.tool_call_id)
            case MessageEnd():
                self.journal.add(self.seq, body, ends=event.message.id)
            case ToolExecutionEnd():
                self.journal.add(self.seq, body, ends=event.tool_call_id)
            case _:
                self.journal.add(self.seq, body)
        return body


class OutgoingEvent:
    """One `agent/event`; text of the same message or call can be merged until it leaves."""

    __slots__ = ("_parts", "event", "run_id", "size", "stream", "time")

    def __init__(self, stream: EventStream, event: Event, run_id: str | None) -> None:
        self.stream = stream
        self.event = event
        self.run_id = run_id
        self.time = datetime.now(UTC)
        self.size = _OVERHEAD
        self._parts: list[str] = []
        if isinstance(event, MessageUpdate | ToolExecutionUpdate):
            self.size += len(event.text)

    def absorb(self, later: Outgoing) -> bool:
        if not isinstance(later, OutgoingEvent) or later.stream is not self.stream:
            return False
        mine, other = self.event, later.event
        if isinstance(mine, MessageUpdate) and isinstance(other, MessageUpdate):
            return self._same_block(mine, other) and self._take(other.text)
        if isinstance(mine, ToolExecutionUpdate) and isinstance(other, ToolExecutionUpdate):
            return mine.tool_call_id == other.tool_call_id and self._take_progress(mine, other)
        return False

    def body(self) -> bytes:
        self._join()
        return _HEAD + self.stream.encoded(self.event, self.run_id, self.time) + b"}"

    def _same_block(self, mine: MessageUpdate, other: MessageUpdate) -> bool:
        return mine.message_id == other.message_id and mine.content_index == other.content_index

    def _take(self, text: str) -> bool:
        self._parts.append(text)
        self.size += len(text)
        return True

    def _take_progress(self, mine: ToolExecutionUpdate, other: ToolExecutionUpdate) -> bool:
        text = mine.text + other.text
        over = max(0, len(text) - _PROGRESS_ROOM)
        dropped = mine.dropped + other.dropped + over
        self.event = ToolExecutionUpdate(mine.tool_call_id, text[over:], dropped)
        self.size = _OVERHEAD + len(text) - over
        return True

    def _join(self) -> None:
        if self._parts and isinstance(self.event, MessageUpdate):
            self.event = self.event._replace(text=self.event.text + "".join(self._parts))
            self._parts.clear()
