"""Hooks: the five places where others may change what happens. Timing and error rules: kernel.md."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import Message, ModelMessage, ToolCall, UserBlock
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.tooling import ToolResult

__all__ = [
    "AfterToolResult",
    "BeforeToolCall",
    "BlockCall",
    "ChangeArguments",
    "ConvertToLlm",
    "FinishedCall",
    "Hooks",
    "OneMoreTurn",
    "ResultPatch",
    "ShouldStop",
    "StopRun",
    "TransformContext",
]


@dataclass(frozen=True, slots=True)
class BlockCall:
    reason: str
    """Told to the model."""


@dataclass(frozen=True, slots=True)
class ChangeArguments:
    arguments: JsonObject
    """Validated again; the transcript keeps what the model wrote."""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """What `after_tool_result` is shown."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ResultPatch:
    """Fields that are None stay as they are."""

    content: tuple[UserBlock, ...] | None = None
    details: JsonObject | None = None
    is_error: bool | None = None


@dataclass(frozen=True, slots=True)
class StopRun:
    """End the run as completed."""


@dataclass(frozen=True, slots=True)
class OneMoreTurn:
    message: str


TransformContext: TypeAlias = Callable[[Sequence[Message], AbortSignal], Awaitable[Sequence[Message]]]
ConvertToLlm: TypeAlias = Callable[[Sequence[Message]], Awaitable[Sequence[ModelMessage]]]
BeforeToolCall: TypeAlias = Callable[[ToolCall, AbortSignal], Awaitable[BlockCall | ChangeArguments | None]]
AfterToolResult: TypeAlias = Callable[[FinishedCall], Awaitable[ResultPatch | None]]
ShouldStop: TypeAlias = Callable[[AgentStateSnapshot], Awaitable[StopRun | OneMoreTurn | bool | None]]
"""True is the same as `StopRun`."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Each kind runs in order; for before_tool_call and should_stop the first that decides wins."""

    transform_context: tuple[TransformContext, ...] = ()
    convert_to_llm: ConvertToLlm | None = None
    before_tool_call: tuple[BeforeToolCall, ...] = ()
    after_tool_result: tuple[AfterToolResult, ...] = ()
    should_stop_after_turn: tuple[ShouldStop, ...] = ()
