"""What a run works with, put together once and handed to whoever does a piece of it."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.approvals import Approvals
from pilothouse_agent.kernel.bus import EventBus
from pilothouse_agent.kernel.events import MessageEnd, MessageStart, Phase, QueuedItem
from pilothouse_agent.kernel.hook_runner import HookRunner
from pilothouse_agent.kernel.messages import (
    BlockPlace,
    CustomMessage,
    Role,
    TextBlock,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.parts import AgentConfig, AgentParts
from pilothouse_agent.kernel.queues import MessageQueues
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.state import State
from pilothouse_agent.kernel.transcript import Transcript

__all__ = ["RunContext"]


@dataclass(frozen=True, slots=True)
class RunContext:
    """Of one run, or of one compaction by hand."""

    run_id: str
    parts: AgentParts
    config: AgentConfig
    transcript: Transcript
    state: State
    queues: MessageQueues
    bus: EventBus
    approvals: Approvals
    hooks: HookRunner
    signal: AbortSignal

    def snapshot(self) -> AgentStateSnapshot:
        return self.state.snapshot(self.config, self.queues, self.transcript)

    def abort(self) -> tuple[QueuedItem, ...]:
        """Hand back what is queued and end what runs; idempotent (A5, Q3)."""
        returned = self.queues.hand_back()
        self.stop()
        return returned

    def stop(self) -> None:
        if not self.signal.aborted:
            self.bus.set_limit(self.parts.settings.abort_listener_limit)
            self.signal.set()

    async def move(self, target: Phase, reason: str) -> None:
        await self.bus.publish(self.state.move(target, reason))

    async def store(self, message: UserMessage | CustomMessage | ToolResultMessage) -> None:
        self.transcript.append(message)
        await self.bus.publish(MessageStart(message.id, _role(message)))
        await self.bus.publish(MessageEnd(message))

    def user(self, content: tuple[UserBlock, ...], queue_id: str | None) -> UserMessage:
        return UserMessage(self.parts.new_id("msg"), content, self.parts.clock.now(), queue_id)

    def custom(
        self, name: str, text: str, *, for_model: bool = True, left_out: tuple[BlockPlace, ...] = ()
    ) -> CustomMessage:
        message_id, time = self.parts.new_id("msg"), self.parts.clock.now()
        return CustomMessage(message_id, (TextBlock(text),), time, name, for_model, left_out)


def _role(message: UserMessage | CustomMessage | ToolResultMessage) -> Role:
    match message:
        case UserMessage():
            return "user"
        case CustomMessage():
            return "custom"
        case ToolResultMessage():
            return "toolResult"
