"""Facts about the agent, kept by the events themselves and read through snapshots (S1 to S3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from pilothouse_agent.kernel.builder import MessageBuilder
from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    Event,
    MessageEnd,
    Phase,
    PhaseChange,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from pilothouse_agent.kernel.messages import AssistantMessage
from pilothouse_agent.kernel.parts import AgentConfig
from pilothouse_agent.kernel.queues import MessageQueues
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot, StreamingMessage
from pilothouse_agent.kernel.transcript import Transcript

__all__ = ["State"]

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

    def snapshot(
        self, config: AgentConfig, queues: MessageQueues, transcript: Transcript
    ) -> AgentStateSnapshot:
        queued, specs = queues.update(), config.specs()
        return AgentStateSnapshot(
            phase=self.phase,
            run_id=self.run_id,
            messages=tuple(transcript.messages),
            system_prompt=config.system(specs),
            model=config.model,
            thinking=config.thinking,
            tools=tuple(spec.name for spec in specs),
            steering_mode=queues.modes["steering"],
            follow_up_mode=queues.modes["followUp"],
            steering=queued.steering,
            follow_up=queued.follow_up,
            is_streaming=self.streaming is not None,
            streaming_message=self.streaming_message,
            pending_tool_calls=tuple(self.pending_tool_calls),
            pending_writes=self.pending_writes,
            error_message=self.error_message,
            turn=self.turn,
            context_tokens=transcript.tokens,
        )
