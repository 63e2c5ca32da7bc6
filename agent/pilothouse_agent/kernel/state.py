"""Facts about the agent, kept by the events themselves and read through snapshots (S1 to S3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from pilothouse_agent.kernel.builder import MessageBuilder
from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    Event,
    MessageEnd,
    Phase,
    PhaseChange,
    QueuedItem,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from pilothouse_agent.kernel.messages import AssistantBlock, AssistantMessage, Message
from pilothouse_agent.kernel.queues import QueueMode
from pilothouse_agent.kernel.request import ThinkingLevel

__all__ = ["AgentStateSnapshot", "State", "StreamingMessage"]

_MOVES: frozenset[tuple[Phase, Phase]] = frozenset(
    {
        ("idle", "turn"),
        ("idle", "compaction"),
        ("turn", "compaction"),
        ("turn", "retry"),
        ("turn", "idle"),
        ("compaction", "turn"),
        ("compaction", "idle"),
        ("retry", "turn"),
        ("retry", "idle"),
    }
)

_ABORTED = {"aborted": "The run was aborted."}


@dataclass(frozen=True, slots=True)
class StreamingMessage:
    """What has come so far of the assistant message being streamed."""

    id: str
    content: tuple[AssistantBlock, ...]


@dataclass(frozen=True, slots=True)
class AgentStateSnapshot:
    """The agent at one moment; nothing in it can change the agent."""

    phase: Phase
    run_id: str | None
    messages: tuple[Message, ...]
    system_prompt: str
    model: str
    thinking: ThinkingLevel
    tools: tuple[str, ...]
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    steering: tuple[QueuedItem, ...]
    follow_up: tuple[QueuedItem, ...]
    is_streaming: bool
    streaming_message: StreamingMessage | None
    pending_tool_calls: tuple[str, ...]
    pending_writes: tuple[str, ...]
    error_message: str | None
    turn: int
    """Of the present or last run, from 1."""
    context_tokens: int


class State:
    """The live facts. Changed only by `apply`, by the phase machine and by writes beginning and ending."""

    def __init__(self) -> None:
        self.phase: Phase = "idle"
        self.run_id: str | None = None
        self.streaming: MessageBuilder | None = None
        self.pending_tool_calls: dict[str, None] = {}
        self.error_message: str | None = None
        self.turn = 0
        self._pending_writes: Counter[str] = Counter()

    @property
    def pending_writes(self) -> tuple[str, ...]:
        return tuple(self._pending_writes)

    @property
    def streaming_message(self) -> StreamingMessage | None:
        builder = self.streaming
        return builder and StreamingMessage(builder.message_id, builder.content("broken"))

    def move(self, target: Phase, reason: str) -> PhaseChange:
        """Change the phase; the event returned is to be published. An illegal move raises RuntimeError."""
        source = self.phase
        if (source, target) not in _MOVES:
            raise RuntimeError(f"The phase cannot go from {source} to {target} ({reason}).")
        self.phase = target
        if target == "idle":
            self.streaming = None
            self.pending_tool_calls.clear()
            self._pending_writes = Counter()
        return PhaseChange(source, target, reason)

    @contextmanager
    def writing(self, path: str) -> Generator[None]:
        # A write that outlives its run ends in that run's count, not in the next one's.
        writes = self._pending_writes
        writes[path] += 1
        try:
            yield
        finally:
            writes[path] -= 1
            if not writes[path]:
                del writes[path]

    def apply(self, event: Event) -> None:
        match event:
            case ToolExecutionStart():
                self.pending_tool_calls[event.tool_call_id] = None
            case ToolExecutionEnd():
                self.pending_tool_calls.pop(event.tool_call_id, None)
            case MessageEnd() if isinstance(event.message, AssistantMessage):
                self.streaming = None
            case AgentStart():
                self.run_id = event.run_id
                self.error_message = None
            case AgentEnd():
                self.run_id = None
                self.error_message = event.error.message if event.error else _ABORTED.get(event.stop_reason)
            case _:
                pass
