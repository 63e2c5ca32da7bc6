"""Runs the hooks: with copies, with their limit, and with a check of what they give."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar, cast

from pilothouse_agent.kernel.abort import Aborted, AbortSignal, bounded
from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.foreign import contained, described
from pilothouse_agent.kernel.handed_out import HandedOut, copy_call
from pilothouse_agent.kernel.hooks import (
    BlockCall,
    ChangeArguments,
    FinishedCall,
    Hooks,
    OneMoreTurn,
    ResultPatch,
    StopRun,
)
from pilothouse_agent.kernel.json_types import copy_object, is_json
from pilothouse_agent.kernel.messages import CustomMessage, Message, ModelMessage, ToolCall, UserBlock
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_agent.kernel.transcript import Transcript, convert

__all__ = ["HookFailed", "HookRunner"]

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)


class HookFailed(Exception):
    """A hook raised, exceeded its limit or gave the wrong thing; the text says which and how."""


class HookRunner:
    """Runs the hooks with their limit; every method raises `Aborted` at an abort."""

    def __init__(
        self, hooks: Hooks, signal: AbortSignal, *, limit: float, notify: Callable[[Notice], None]
    ) -> None:
        self._hooks = hooks
        self._signal = signal
        self._limit = limit
        self._notify = notify

    async def request_messages(self, transcript: Transcript) -> Sequence[ModelMessage]:
        """transform_context, then convert_to_llm; one that fails is skipped with a notice."""
        if not self._hooks.transform_context and self._hooks.convert_to_llm is None:
            return transcript.sent()
        shown: Sequence[Message] = transcript.view()
        for hook in self._hooks.transform_context:
            out = HandedOut(shown)
            try:
                given = await self._run("transform_context", hook, out.copies, self._signal)
                shown = _messages("transform_context", given, out)
            except HookFailed as error:
                self._warn(error)
        if self._hooks.convert_to_llm is not None:
            out = HandedOut(shown)
            try:
                given = await self._run("convert_to_llm", self._hooks.convert_to_llm, out.copies)
                return _model_messages("convert_to_llm", given, out)
            except HookFailed as error:
                self._warn(error)
        return convert(shown)

    async def before(self, call: ToolCall) -> BlockCall | ChangeArguments | None:
        """Raises `HookFailed`."""
        changed: ChangeArguments | None = None
        for hook in self._hooks.before_tool_call:
            given = await self._run("before_tool_call", hook, copy_call(call), self._signal)
            decision = _before_decision(given)
            if isinstance(decision, BlockCall):
                return decision
            if decision is not None:
                changed = decision
                call = replace(call, arguments=decision.arguments, arguments_text=None)
        return changed

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Raises `HookFailed`."""
        for hook in self._hooks.after_tool_result:
            details = None if result.details is None else copy_object(result.details)
            finished = FinishedCall(copy_call(call), replace(result, details=details))
            patch = _patch(await self._run("after_tool_result", hook, finished))
            if patch is not None:
                result = _patched(result, patch)
        return result

    async def should_stop(self, snapshot: AgentStateSnapshot) -> StopRun | OneMoreTurn | None:
        for hook in self._hooks.should_stop_after_turn:
            shown = replace(snapshot, messages=tuple(HandedOut(snapshot.messages).copies))
            try:
                decision = _stop_decision(await self._run("should_stop_after_turn", hook, shown))
            except HookFailed as error:
                self._warn(error)
                continue
            if decision is not None:
                return decision
        return None

    async def _run(self, name: str, hook: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        self._signal.raise_if_aborted()
        try:
            work = contained(hook, *args, **named)
            return await bounded(work, signal=self._signal, limit=self._limit)
        except Aborted:
            raise
        except TimeoutError:
            raise HookFailed(f"The {name} hook did not answer within {self._limit:g} s.") from None
        except Exception as error:
            logger.exception("The %s hook raised", name)
            raise HookFailed(f"The {name} hook failed: {described(error)}") from error

    def _warn(self, error: HookFailed) -> None:
        self._notify(Notice("warning", f"{error} It was skipped.", "hookFailed"))


def _unfit(name: str, given: object, wanted: str) -> HookFailed:
    return HookFailed(f"The {name} hook gave {type(given).__name__} in place of {wanted}.")


def _messages(name: str, given: object, out: HandedOut) -> tuple[Message, ...]:
    """What the hook gave, if it is what the table of hooks says it may give."""
    if not isinstance(given, list | tuple):
        raise _unfit(name, given, "a list of messages")
    messages: list[Message] = []
    for message in cast("Sequence[object]", given):
        if not isinstance(message, Message):
            raise _unfit(name, message, "a message")
        messages.append(out.taken_back(message))
    return tuple(messages)


def _model_messages(name: str, given: object, out: HandedOut) -> tuple[ModelMessage, ...]:
    messages: list[ModelMessage] = []
    for message in _messages(name, given, out):
        if isinstance(message, CustomMessage):
            raise _unfit(name, message, "a message for the model")
        messages.append(message)
    return tuple(messages)


def _before_decision(given: object) -> BlockCall | ChangeArguments | None:
    if isinstance(given, ChangeArguments) and isinstance(cast("object", given.arguments), dict):
        return ChangeArguments(copy_object(given.arguments))
    if given is None or isinstance(given, BlockCall):
        return given
    raise _unfit("before_tool_call", given, "BlockCall, ChangeArguments or None")


def _patch(given: object) -> ResultPatch | None:
    if given is None or (isinstance(given, ResultPatch) and _fits(given)):
        return given
    raise _unfit("after_tool_result", given, "a ResultPatch or None")


def _fits(patch: ResultPatch) -> bool:
    content, details = cast("object", patch.content), cast("object", patch.details)
    if not (content is None or isinstance(content, tuple)):
        return False
    blocks = cast("Sequence[object]", content or ())
    return (
        (details is None or (isinstance(details, dict) and is_json(cast("object", details))))
        and patch.is_error in (True, False, None)
        and all(isinstance(block, UserBlock) for block in blocks)
    )


def _stop_decision(given: object) -> StopRun | OneMoreTurn | None:
    if isinstance(given, bool):
        return StopRun() if given else None
    if isinstance(given, OneMoreTurn) and isinstance(cast("object", given.message), str):
        return given
    if given is None or isinstance(given, StopRun):
        return given
    raise _unfit("should_stop_after_turn", given, "True, StopRun, OneMoreTurn or None")


def _patched(result: ToolResult, patch: ResultPatch) -> ToolResult:
    return replace(
        result,
        content=result.content if patch.content is None else patch.content,
        details=result.details if patch.details is None else patch.details,
        is_error=result.is_error if patch.is_error is None else patch.is_error,
    )
