"""Hooks: the five places where others may change what happens. Timing and error rules: kernel.md."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeAlias, TypeVar

from pilothouse_agent.kernel.abort import Aborted, AbortSignal, bounded
from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import Message, ModelMessage, ToolCall, UserBlock
from pilothouse_agent.kernel.state import AgentStateSnapshot
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_agent.kernel.transcript import convert

__all__ = [
    "AfterToolResult",
    "BeforeToolCall",
    "BlockCall",
    "ChangeArguments",
    "ConvertToLlm",
    "FinishedCall",
    "HookFailed",
    "HookRunner",
    "Hooks",
    "OneMoreTurn",
    "ResultPatch",
    "ShouldStop",
    "StopRun",
    "TransformContext",
]

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)


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
ShouldStop: TypeAlias = Callable[[AgentStateSnapshot], Awaitable[StopRun | OneMoreTurn | None]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Each kind runs in order; for before_tool_call and should_stop the first that decides wins."""

    transform_context: tuple[TransformContext, ...] = ()
    convert_to_llm: ConvertToLlm | None = None
    before_tool_call: tuple[BeforeToolCall, ...] = ()
    after_tool_result: tuple[AfterToolResult, ...] = ()
    should_stop_after_turn: tuple[ShouldStop, ...] = ()


class HookFailed(Exception):
    """A hook raised or exceeded its limit; the text says which and how."""


class HookRunner:
    """Runs the hooks with their limit; every method raises `Aborted` at an abort."""

    def __init__(
        self, hooks: Hooks, signal: AbortSignal, *, limit: float, notify: Callable[[Notice], None]
    ) -> None:
        self._hooks = hooks
        self._signal = signal
        self._limit = limit
        self._notify = notify

    async def request_messages(self, messages: list[Message]) -> Sequence[ModelMessage]:
        """transform_context, then convert_to_llm; one that fails is skipped with a notice."""
        shown: Sequence[Message] = messages
        for hook in self._hooks.transform_context:
            try:
                shown = await self._run("transform_context", hook, shown, self._signal)
            except HookFailed as error:
                self._warn(error)
        if self._hooks.convert_to_llm is not None:
            try:
                return await self._run("convert_to_llm", self._hooks.convert_to_llm, shown)
            except HookFailed as error:
                self._warn(error)
        return convert(shown)

    async def before(self, call: ToolCall) -> BlockCall | ChangeArguments | None:
        """Raises `HookFailed`."""
        changed: ChangeArguments | None = None
        for hook in self._hooks.before_tool_call:
            decision = await self._run("before_tool_call", hook, call, self._signal)
            if isinstance(decision, BlockCall):
                return decision
            if decision is not None:
                changed = decision
                call = replace(call, arguments=decision.arguments, arguments_text=None)
        return changed

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Raises `HookFailed`."""
        for hook in self._hooks.after_tool_result:
            patch = await self._run("after_tool_result", hook, FinishedCall(call, result))
            if patch is not None:
                result = _patched(result, patch)
        return result

    async def should_stop(self, snapshot: AgentStateSnapshot) -> StopRun | OneMoreTurn | None:
        for hook in self._hooks.should_stop_after_turn:
            try:
                decision = await self._run("should_stop_after_turn", hook, snapshot)
            except HookFailed as error:
                self._warn(error)
                continue
            if decision is not None:
                return decision
        return None

    async def _run(self, name: str, hook: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        self._signal.raise_if_aborted()
        try:
            return await bounded(hook(*args, **named), signal=self._signal, limit=self._limit)
        except Aborted:
            raise
        except TimeoutError:
            raise HookFailed(f"The {name} hook did not answer within {self._limit:g} s.") from None
        except Exception as error:
            logger.exception("The %s hook raised", name)
            raise HookFailed(f"The {name} hook failed: {type(error).__name__}: {error}") from error

    def _warn(self, error: HookFailed) -> None:
        self._notify(Notice("warning", f"{error} It was skipped.", "hookFailed"))


def _patched(result: ToolResult, patch: ResultPatch) -> ToolResult:
    return replace(
        result,
        content=result.content if patch.content is None else patch.content,
        details=result.details if patch.details is None else patch.details,
        is_error=result.is_error if patch.is_error is None else patch.is_error,
    )
