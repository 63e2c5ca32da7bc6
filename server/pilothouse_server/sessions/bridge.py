"""Carries a session's kernel events to the client."""

from __future__ import annotations

from collections.abc import Awaitable

from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    Event,
    MessageUpdate,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnStart,
)
from pilothouse_server.sessions.event_stream import EventStream, OutgoingEvent
from pilothouse_server.transport.outbox import Outbox

__all__ = ["Bridge"]

_WAITING = (MessageUpdate, ToolExecutionUpdate, ToolExecutionStart, TurnStart)
"""Events that more work follows. The others never wait, so that a run ends at once when it is to end."""


class Bridge:
    """A listener of one agent; makes the run wait, for a bounded time, when the client reads slowly."""

    def __init__(self, stream: EventStream, outbox: Outbox, *, each_delta: bool = False) -> None:
        """`each_delta`: those that came in one network read are not put together."""
        self._stream = stream
        self._outbox = outbox
        self._joins = () if each_delta else (MessageUpdate,)
        self._run_id: str | None = None
        """From agent_start to agent_end, both included; what happens between runs belongs to none."""

    def __call__(self, event: Event) -> Awaitable[None] | None:
        if isinstance(event, AgentStart):
            self._run_id = event.run_id
        outgoing = OutgoingEvent(self._stream, event, self._run_id)
        self._outbox.put(outgoing, eager=isinstance(event, self._joins))
        if isinstance(event, AgentEnd):
            self._run_id = None
        return self._outbox.room() if self._outbox.full and isinstance(event, _WAITING) else None
