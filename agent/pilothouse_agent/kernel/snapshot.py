"""The agent at one moment, as everybody outside the run sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pilothouse_agent.kernel.events import Phase, QueuedItem
from pilothouse_agent.kernel.messages import AssistantBlock, Message
from pilothouse_agent.kernel.request import ThinkingLevel

__all__ = ["AgentStateSnapshot", "QueueMode", "StreamingMessage"]

QueueMode = Literal["one", "all"]


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
