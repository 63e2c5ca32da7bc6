"""The loop: one run as a sequence of turns, each one model request and the tools it asked for (L1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from pilothouse_agent.kernel.context import RunContext
from pilothouse_agent.kernel.events import AgentEnd, AgentStart, QueuedItem, TurnEnd, TurnStart
from pilothouse_agent.kernel.executor import ToolExecutor
from pilothouse_agent.kernel.following import Ending, Following, Input, WhatFollows
from pilothouse_agent.kernel.foreign import cancelled_from_outside, described
from pilothouse_agent.kernel.guards import LoopGuard
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    ErrorInfo,
    ToolCall,
    ToolResultMessage,
    text_of,
)
from pilothouse_agent.kernel.reply import Reply, ReplyMaker
from pilothouse_agent.kernel.results import CallEnd, aborted, failed
from pilothouse_agent.kernel.run import RunResult

__all__ = ["Runner"]

logger = logging.getLogger(__name__)

_LENGTH = "The answer was cut at the output limit, so this call did not run. Issue it again, smaller."
_REFUSED = "The answer was refused, so this call did not run."
_BROKEN = "Aborted: the answer broke off before this call could run."


class Runner:
    """Advances one run. Owns the transcript while it does (B3)."""

    def __init__(self, context: RunContext, inputs: Sequence[Input], prompt_id: str | None) -> None:
        self._context = context
        self._inputs = inputs
        self._prompt_id = prompt_id
        self._replies = ReplyMaker(context)
        self._following = Following(context)
        self._loop_guard = LoopGuard()
        self._denied = 0
        self._last: AssistantMessage | None = None
        self._turn_open = False
        self._started = context.parts.clock.monotonic()

    async def run(self) -> RunResult:
        """From agent_start to agent_end. Never raises for what happens in between (A2, A3)."""
        context, inputs = self._context, self._inputs
        ids = tuple(item.id for item in inputs if not isinstance(item, QueuedItem))
        start = AgentStart(context.run_id, context.config.model_in_use, ids, self._prompt_id)
        await context.bus.publish(start)
        await context.move("turn", "prompt" if inputs else "continue")
        try:
            ending = await self._turns(inputs)
        except asyncio.CancelledError as error:
            if cancelled_from_outside():
                raise
            ending = await self._internal_failure(error)
        except GeneratorExit:
            raise
        except BaseException as error:
            logger.exception("The run failed")
            ending = await self._internal_failure(error)
        return await self._end(ending)

    async def _turns(self, inputs: Sequence[Input]) -> Ending:
        if not any(isinstance(item, QueuedItem) for item in inputs):
            inputs = [*inputs, *self._context.queues.poll("steering")]
        while True:
            turn = await self._turn(inputs)
            if self._context.signal.aborted:
                return Ending("aborted")
            if turn.final:
                return turn.ending
            following = await self._following.after(turn)
            if isinstance(following, Ending):
                return following
            inputs = following

    async def _turn(self, inputs: Sequence[Input]) -> WhatFollows:
        await self._open_turn()
        await self._deliver(inputs)
        reply = await self._replies.make()
        calls = reply.message.calls if reply.message is not None else ()
        ends = await self._answer(reply, calls)
        looping = await self._store_results(calls, ends)
        await self._close_turn(reply.message, calls)
        return self._following.judge(reply, ends, looping)

    async def _deliver(self, inputs: Sequence[Input]) -> None:
        """Put the turn's input into the transcript, except queued items handed back meanwhile (Q3)."""
        context, news = self._context, self._context.parts.news
        for name, text in news.take() if news is not None else ():
            await context.store(context.custom(name, text))
        queued = False
        for item in inputs:
            if not isinstance(item, QueuedItem):
                await context.store(item)
            elif context.queues.deliver(item):
                queued = True
                await context.store(context.user(item.content, item.queue_id))
        if queued:
            await context.bus.publish(context.queues.update())

    async def _answer(self, reply: Reply, calls: tuple[ToolCall, ...]) -> tuple[CallEnd, ...]:
        """One end for every call of the message, run or not (L3, L4)."""
        if not calls or reply.message is None:
            return ()
        executor = ToolExecutor(self._context, reply.tools)
        match reply.message.stop_reason:
            case "error" | "aborted" | "interrupted":
                return await executor.refuse(calls, aborted(_BROKEN))
            case "length":
                return await executor.refuse(calls, failed(_LENGTH))
            case "refusal":
                return await executor.refuse(calls, failed(_REFUSED))
            case _:
                return await executor.run(calls)

    async def _store_results(self, calls: tuple[ToolCall, ...], ends: tuple[CallEnd, ...]) -> ToolCall | None:
        """Tool-result messages in call order; the call at which the loop guard ends the run, if any (L9)."""
        looping: ToolCall | None = None
        parts = self._context.parts
        for call, end in zip(calls, ends, strict=True):
            self._denied += end.outcome == "denied"
            if end.outcome != "aborted":
                notice, stop = self._loop_guard.check(call, end.result.content)
                looping = looping or (call if stop else None)
                end = end.with_notice(notice) if notice else end
            message_id, time, told = parts.new_id("msg"), parts.clock.now(), end.result
            await self._context.store(
                ToolResultMessage(message_id, told.content, time, call.id, call.name, told.is_error)
            )
        return looping

    async def _internal_failure(self, error: BaseException) -> Ending:
        """Whatever went wrong becomes an assistant message like any other failure (A3)."""
        info = ErrorInfo("internal", f"The run failed inside: {described(error)}")
        if not self._turn_open:
            await self._open_turn()
        await self._close_turn(await self._replies.store_failure(info), ())
        return Ending("error", info)

    async def _end(self, ending: Ending) -> RunResult:
        """The one clean-up: queues handed back, phase idle, agent_end (E2, S3)."""
        context, queues = self._context, self._context.queues
        queues.hand_back()
        if queues.returned:
            await context.bus.publish(queues.update())
        await context.move("idle", ending.stop_reason)
        result = RunResult(
            context.run_id,
            ending.stop_reason,
            self._last,
            text_of(self._last.content) if self._last is not None else "",
            self._replies.usage,
            queues.returned,
            ending.error,
            self._denied,
        )
        await context.bus.publish(self._agent_end(result))
        return result

    def _agent_end(self, result: RunResult) -> AgentEnd:
        duration = round((self._context.parts.clock.monotonic() - self._started) * 1000)
        return AgentEnd(
            result.run_id,
            result.stop_reason,
            result.text,
            result.usage,
            result.returned,
            duration,
            result.denied,
            result.error,
        )

    async def _open_turn(self) -> None:
        state = self._context.state
        state.turn += 1
        self._turn_open = True
        await self._context.bus.publish(TurnStart(state.turn))

    async def _close_turn(self, message: AssistantMessage | None, calls: tuple[ToolCall, ...]) -> None:
        self._last = message or self._last
        self._turn_open = False
        ids = tuple(call.id for call in calls)
        message_id = message.id if message is not None else None
        await self._context.bus.publish(TurnEnd(self._context.state.turn, ids, message_id))
