"""A session's events on their way out: numbered, stamped and merged as they leave (E6)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import time
from typing import Any, TypeAlias

from pilothouse_agent.kernel.events import (
    Event,
    FileChanged,
    Location,
    MessageEnd,
    MessageUpdate,
    Notice,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from pilothouse_agent.kernel.foreign_documents import uri_for_path
from pilothouse_server.documents.client_uris import ClientUris
from pilothouse_server.protocol.events import event_to_wire
from pilothouse_server.protocol.kernel_values import clock_time
from pilothouse_server.protocol.update_template import UpdateTemplate
from pilothouse_server.sessions.journal import Journal
from pilothouse_server.transport.outbox import Outgoing
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.codec import encode

__all__ = ["EventStream", "OutgoingEvent"]

logger = logging.getLogger(__name__)

_Update: TypeAlias = MessageUpdate | ToolExecutionUpdate
_Common: TypeAlias = tuple[Any, ...]
"""What updates share but for their text; the run comes first."""

_PROGRESS_ROOM = 64 * 1024
"""Characters of merged tool progress kept; older ones are dropped and counted."""
_OVERHEAD = 300
_HEAD = b'{"jsonrpc":"2.0","method":"%b","params":' % names.EVENT.encode()


class EventStream:
    """Numbers the events of one session; `epoch` changes with the server process."""

    def __init__(self, session_id: str, epoch: str, uris: ClientUris | None = None) -> None:
        """`uris`: how the client spells what has changed."""
        self.session_id = session_id
        self.epoch = epoch
        self._uris = uris
        self.seq = 0
        """Of the last event that left."""
        self.journal = Journal()
        self._templates: dict[str, tuple[_Common, UpdateTemplate]] = {}
        """By the message or call that is under way, for the updates that have so much in common."""

    def encoded(self, event: Event, run_id: str | None, seconds: float) -> bytes:
        """The params of the notification for an event that leaves now; it happened at this Unix time."""
        if isinstance(event, MessageUpdate):
            message_id, kind, content_index, text, call_id, tool_name = event
            common = (run_id, kind, content_index, call_id, tool_name)
            return self._update(message_id, common, text, event, seconds)
        if isinstance(event, ToolExecutionUpdate) and not event.dropped:
            return self._update(event.tool_call_id, (run_id,), event.text, event, seconds)
        seq = self.seq + 1
        try:
            body = self._encode(seq, event, run_id, clock_time(seconds))
        except (TypeError, ValueError):
            logger.exception("An event could not be put into JSON")
            text = f"The event {event.type} could not be put into JSON; it is missing here."
            notice = Notice("error", text, "eventLost")
            body = self._encode(seq, notice, run_id, clock_time(seconds))
        self.seq = seq
        self._keep(event, body)
        return body

    def _update(self, of: str, common: _Common, text: str, event: _Update, seconds: float) -> bytes:
        """The same for the most frequent events, by a shorter way."""
        known = self._templates.get(of)
        if known is None or known[0] != common:
            bare = self._params(0, _with_text(event, ""), common[0], "")
            known = self._templates[of] = (common, UpdateTemplate(bare))
        self.seq += 1
        body = known[1].filled(self.seq, clock_time(seconds), text)
        self.journal.add(self.seq, body, update_of=of)
        return body

    def _encode(self, seq: int, event: Event, run_id: str | None, time: str) -> bytes:
        return encode(self._params(seq, event, run_id, time))

    def _params(self, seq: int, event: Event, run_id: str | None, time: str) -> dict[str, Any]:
        return {
            "sessionId": self.session_id,
            "runId": run_id,
            "epoch": self.epoch,
            "seq": seq,
            "time": time,
            **self._to_wire(event),
        }

    def _to_wire(self, event: Event) -> dict[str, Any]:
        """With paths as the client spells them."""
        match event:
            case FileChanged() if self._uris is not None:
                spelled = {"path": self._uris.named(event.path), "uri": self._uris.of(event.path)}
                return event_to_wire(event) | spelled
            case ToolExecutionStart() | ToolExecutionEnd() if event.locations:
                return event_to_wire(replace(event, locations=tuple(self._spelled(event.locations))))
            case _:
                return event_to_wire(event)

    def _spelled(self, locations: Sequence[Location]) -> Iterator[Location]:
        """Those that are files."""
        named = self._uris.named if self._uris is not None else str
        return (
            replace(location, path=named(location.path))
            for location in locations
            if uri_for_path(location.path) is None
        )

    def _keep(self, event: Event, body: bytes) -> None:
        match event:
            case ToolExecutionUpdate():
                self.journal.add(self.seq, body, update_of=event.tool_call_id)
            case MessageEnd():
                self._end(event.message.id, body)
            case ToolExecutionEnd():
                self._end(event.tool_call_id, body)
            case _:
                self.journal.add(self.seq, body)

    def _end(self, of: str, body: bytes) -> None:
        self._templates.pop(of, None)
        self.journal.add(self.seq, body, ends=of)


def _with_text(event: _Update, text: str) -> _Update:
    return event._replace(text=text) if isinstance(event, MessageUpdate) else replace(event, text=text)


class OutgoingEvent:
    """One `agent/event`; text of the same message or call can be merged until it leaves."""

    __slots__ = ("_dropped", "_event", "_parts", "_run_id", "_stream", "_time", "size")

    def __init__(self, stream: EventStream, event: Event, run_id: str | None) -> None:
        self.size = _OVERHEAD
        self._stream = stream
        self._event = event
        self._run_id = run_id
        self._time = time()
        self._parts: list[str] = []
        """Text in order, once something was merged."""
        self._dropped = 0
        if isinstance(event, MessageUpdate | ToolExecutionUpdate):
            self.size += len(event.text)

    def absorb(self, later: Outgoing) -> bool:
        if not isinstance(later, OutgoingEvent) or later._stream is not self._stream:
            return False
        mine, other = self._event, later._event
        if isinstance(mine, MessageUpdate) and isinstance(other, MessageUpdate):
            return self._absorb_text(mine, other)
        if isinstance(mine, ToolExecutionUpdate) and isinstance(other, ToolExecutionUpdate):
            return self._absorb_progress(mine, other)
        return False

    def body(self) -> bytes:
        event = self._event
        if self._parts and isinstance(event, MessageUpdate):
            event = event._replace(text="".join(self._parts))
        elif self._parts and isinstance(event, ToolExecutionUpdate):
            self._trim()
            event = ToolExecutionUpdate(event.tool_call_id, self._parts[0], event.dropped + self._dropped)
        return _HEAD + self._stream.encoded(event, self._run_id, self._time) + b"}"

    def _absorb_text(self, mine: MessageUpdate, other: MessageUpdate) -> bool:
        same = mine.message_id == other.message_id and mine.content_index == other.content_index
        if same:
            self._add(mine.text, other.text)
        return same

    def _absorb_progress(self, mine: ToolExecutionUpdate, other: ToolExecutionUpdate) -> bool:
        if mine.tool_call_id != other.tool_call_id:
            return False
        self._add(mine.text, other.text)
        if other.dropped:
            # What was left out lies before the new text: only that is still in one piece.
            self._keep_last(len(other.text))
            self._dropped += other.dropped
        elif self.size > _OVERHEAD + 2 * _PROGRESS_ROOM:
            self._trim()
        return True

    def _add(self, own: str, text: str) -> None:
        if not self._parts:
            self._parts.append(own)
        self._parts.append(text)
        self.size += len(text)

    def _trim(self) -> None:
        self._keep_last(_PROGRESS_ROOM)

    def _keep_last(self, characters: int) -> None:
        text = "".join(self._parts)
        over = max(0, len(text) - characters)
        self._parts = [text[over:]]
        self._dropped += len(text[:over].encode("utf-8", "surrogatepass"))
        self.size -= over
