"""The loop: run → turn → request and tool calls. Rules L1 to L9, order of events E1 to E3."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pilothouse_agent.kernel.abort import Aborted, AbortSignal
from pilothouse_agent.kernel.approvals import Approvals
from pilothouse_agent.kernel.bus import EventBus
from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    MessageEnd,
    MessageStart,
    Notice,
    Phase,
    QueuedItem,
    RunStop,
    TurnEnd,
    TurnStart,
)
from pilothouse_agent.kernel.executor import ToolExecutor
from pilothouse_agent.kernel.foreign import cancelled_from_outside, described, guarded
from pilothouse_agent.kernel.guards import LoopGuard, todo_reminder
from pilothouse_agent.kernel.hooks import HookRunner, OneMoreTurn, StopRun
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    ErrorInfo,
    Role,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
    text_of,
)
from pilothouse_agent.kernel.parts import AgentConfig, AgentParts
from pilothouse_agent.kernel.ports import Tool
from pilothouse_agent.kernel.prepare import Preparer
from pilothouse_agent.kernel.queues import MessageQueues
from pilothouse_agent.kernel.reply import Reply, ReplyMaker
from pilothouse_agent.kernel.results import CallEnd, aborted, failed
from pilothouse_agent.kernel.run import RunResult
from pilothouse_agent.kernel.snapshot import Snapshots
from pilothouse_agent.kernel.state import State
from pilothouse_agent.kernel.transcript import Transcript

__all__ = ["Input", "Runner"]

logger = logging.getLogger(__name__)

_LENGTH = "The answer was cut at the output limit, so this call did not run. Issue it again, smaller."
_REFUSED = "The answer was refused, so this call did not run."
_BROKEN = "Aborted: the answer broke off before this call could run."

Input: TypeAlias = UserMessage | CustomMessage | QueuedItem
"""What a turn can begin with."""


@dataclass(frozen=True, slots=True)
class _Ending:
    stop_reason: RunStop
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class _TurnEnd:
    """What a turn leaves to do."""

    ending: _Ending
    """How the run ends if nothing more is to be done."""
    final: bool = False
    """The run ends here, whatever is queued."""
    goes_on: bool = False
    """Another request is due: results to send, a resume, a pause."""
    follow: tuple[CustomMessage, ...] = ()
    """What the next turn begins with."""


class Runner:
    """Advances one run. Owns the transcript while it does (B3)."""

    def __init__(
        self,
        run_id: str,
        inputs: Sequence[Input],
        *,
        prompt_id: str | None,
        parts: AgentParts,
        config: AgentConfig,
        transcript: Transcript,
        state: State,
        queues: MessageQueues,
        bus: EventBus,
        approvals: Approvals,
        snapshots: Snapshots,
        signal: AbortSignal,
    ) -> None:
        self.run_id = run_id
        self.closed = False
        """The final poll is over; the queues take nothing more (Q2)."""
        self._inputs = inputs
        self._prompt_id = prompt_id
        self._parts = parts
        self._config = config
        self._transcript = transcript
        self._state = state
        self._queues = queues
        self._bus = bus
        self._approvals = approvals
        self._snapshots = snapshots
        self._signal = signal
        self._returned: tuple[QueuedItem, ...] = ()
        self._arriving = _queued(inputs)
        """Taken from the queues for the next turn, but not yet in the transcript."""
        self._hooks = HookRunner(parts.hooks, signal, limit=parts.settings.hook_limit, notify=bus.post)
        self._replies = ReplyMaker(
            parts=parts,
            config=config,
            transcript=transcript,
            state=state,
            bus=bus,
            hooks=self._hooks,
            signal=signal,
        )
        self._loop_guard = LoopGuard()
        self._guarded = 0
        self._denied = 0
        self._empty_answers = 0
        self._last: AssistantMessage | None = None
        self._turn_open = False
        self._started = parts.clock.monotonic()

    def hand_back(self) -> tuple[QueuedItem, ...]:
        """Close the queues; what is still in them is returned, once (Q3)."""
        self.closed = True
        items = (*self._arriving, *self._queues.drain())
        self._arriving = []
        self._returned += items
        return items

    async def run(self) -> RunResult:
        """From agent_start to agent_end. Never raises for what happens in between (A2, A3)."""
        ids = tuple(item.id for item in self._inputs if not isinstance(item, QueuedItem))
        await self._bus.publish(AgentStart(self.run_id, self._config.model_in_use, ids, self._prompt_id))
        await self._move("turn", "prompt" if self._inputs else "continue")
        try:
            ending = await self._turns(self._inputs)
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

    async def _turns(self, inputs: Sequence[Input]) -> _Ending:
        if not any(isinstance(item, QueuedItem) for item in inputs):
            inputs = [*inputs, *self._queues.poll("steering")]
        while True:
            turn = await self._turn(inputs)
            if self._signal.aborted:
                return _Ending("aborted")
            if turn.final:
                return turn.ending
            following = await self._following(turn)
            if isinstance(following, _Ending):
                return following
            inputs = following

    async def _turn(self, inputs: Sequence[Input]) -> _TurnEnd:
        self._arriving = [] if self.closed else _queued(inputs)
        await self._open_turn()
        await self._deliver(inputs)
        reply = await self._replies.make()
        calls = reply.message.calls if reply.message is not None else ()
        ends = await self._answer(reply, calls)
        looping = await self._store_results(calls, ends)
        await self._close_turn(reply.message, calls)
        return self._judge(reply, calls, ends, looping)

    async def _deliver(self, inputs: Sequence[Input]) -> None:
        """Put the turn's input into the transcript, except queued items handed back meanwhile (Q3)."""
        for name, text in self._parts.news.take() if self._parts.news is not None else ():
            await self._store(self._custom(name, (TextBlock(text),)))
        queued = False
        for item in inputs:
            if not isinstance(item, QueuedItem):
                await self._store(item)
            elif self._arriving:
                self._arriving.remove(item)
                queued = True
                await self._store(self._user_message(item.content, item.queue_id))
        if queued:
            await self._bus.publish(self._queues.update())

    async def _answer(self, reply: Reply, calls: tuple[ToolCall, ...]) -> tuple[CallEnd, ...]:
        """One end for every call of the message, run or not (L3, L4)."""
        if not calls or reply.message is None:
            return ()
        executor = self._executor(reply.tools)
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
        for call, end in zip(calls, ends, strict=True):
            self._denied += end.outcome == "denied"
            if end.outcome != "aborted":
                notice, stop = self._loop_guard.check(call, end.result.content)
                looping = looping or (call if stop else None)
                end = end.with_notice(notice) if notice else end
            await self._store(self._result_message(call, end))
        return looping

    def _judge(
        self, reply: Reply, calls: tuple[ToolCall, ...], ends: tuple[CallEnd, ...], looping: ToolCall | None
    ) -> _TurnEnd:
        message = reply.message
        if reply.failure is not None or message is None:
            return _TurnEnd(_Ending("error", reply.failure), final=True)
        if looping is not None:
            text = f"The model repeated one call of {looping.name} with the same result; the run was ended."
            return _TurnEnd(_Ending("error", ErrorInfo("loop", text)), final=True)
        if reply.resume or message.stop_reason == "interrupted":
            return _TurnEnd(_Ending("error"), goes_on=True, follow=reply.resume)
        if calls and message.stop_reason != "refusal":
            terminated = all(end.result.terminate for end in ends)
            return _TurnEnd(_Ending("completed"), goes_on=not terminated)
        match message.stop_reason:
            case "length":
                return _TurnEnd(_Ending("length"))
            case "refusal":
                return _TurnEnd(_Ending("refused"))
            case _ if not reply.paused and not text_of(message.content).strip():
                return self._said_nothing()
            case _:
                return _TurnEnd(_Ending("completed"), goes_on=reply.paused)

    def _said_nothing(self) -> _TurnEnd:
        """Neither text nor calls: asked once more, then the run ends, with a word (L4)."""
        self._empty_answers += 1
        if self._empty_answers == 1:
            return _TurnEnd(_Ending("completed"), goes_on=True)
        text = "The model gave an empty answer twice, so the run has ended without one."
        self._bus.post(Notice("warning", text, "emptyAnswer"))
        return _TurnEnd(_Ending("completed"))

    async def _following(self, turn: _TurnEnd) -> list[Input] | _Ending:
        """The next turn's input, or how the run ends."""
        follow = turn.follow
        decision = await self._stop_decision()
        if self._signal.aborted:
            return _Ending("aborted")
        if isinstance(decision, StopRun):
            return _Ending("completed")
        last = self._state.turn >= self._parts.settings.max_turns
        if isinstance(decision, OneMoreTurn) and not last and self._guard_allows():
            follow = (*follow, self._custom("stopHook", (TextBlock(decision.message),)))
        elif not (last or turn.goes_on or follow or self._queues):
            follow = self._todo_guard(turn)
        if not (turn.goes_on or follow or self._queues):
            self.closed = True
            return turn.ending
        if last:
            limit = self._parts.settings.max_turns
            text = f"The run was ended at its limit of {limit} turns (run.maxTurns)."
            return _Ending("maxTurns", ErrorInfo("maxTurns", text))
        queued = self._queues.poll("steering")
        if not queued and not turn.goes_on and not follow:
            queued = self._queues.poll("followUp")
        return [*follow, *queued]

    async def _stop_decision(self) -> StopRun | OneMoreTurn | None:
        if not self._parts.hooks.should_stop_after_turn:
            return None
        try:
            return await self._hooks.should_stop(self._snapshots.take())
        except Aborted:
            return None

    def _todo_guard(self, turn: _TurnEnd) -> tuple[CustomMessage, ...]:
        """A model that stops with todos unfinished is told so (L8)."""
        if self._parts.todos is None or turn.ending.stop_reason != "completed":
            return ()
        if self._last is None or self._last.calls:
            return ()
        unfinished = guarded(self._parts.todos.unfinished)
        if not unfinished or not self._guard_allows():
            return ()
        return (self._custom("guard", todo_reminder(unfinished)),)

    def _guard_allows(self) -> bool:
        self._guarded += 1
        return self._guarded <= self._parts.settings.guard_blocks

    async def _internal_failure(self, error: BaseException) -> _Ending:
        """Whatever went wrong becomes an assistant message like any other failure (A3)."""
        info = ErrorInfo("internal", f"The run failed inside: {described(error)}")
        if not self._turn_open:
            await self._open_turn()
        await self._close_turn(await self._replies.store_failure(info), ())
        return _Ending("error", info)

    async def _end(self, ending: _Ending) -> RunResult:
        """The one clean-up: queues handed back, phase idle, agent_end (E2, S3)."""
        self.hand_back()
        if self._returned:
            await self._bus.publish(self._queues.update())
        await self._move("idle", ending.stop_reason)
        result = RunResult(
            self.run_id,
            ending.stop_reason,
            self._last,
            text_of(self._last.content) if self._last is not None else "",
            self._replies.usage,
            self._returned,
            ending.error,
            self._denied,
        )
        await self._bus.publish(self._agent_end(result))
        return result

    def _agent_end(self, result: RunResult) -> AgentEnd:
        duration = round((self._parts.clock.monotonic() - self._started) * 1000)
        return AgentEnd(
            result.run_id,
            result.stop_reason,
            result.text,
            result.usage,
            result.returned,
            result.error,
            duration,
            result.denied,
        )

    async def _open_turn(self) -> None:
        self._state.turn += 1
        self._turn_open = True
        await self._bus.publish(TurnStart(self._state.turn))

    async def _close_turn(self, message: AssistantMessage | None, calls: tuple[ToolCall, ...]) -> None:
        self._last = message or self._last
        self._turn_open = False
        ids = tuple(call.id for call in calls)
        await self._bus.publish(TurnEnd(self._state.turn, message.id if message else None, ids))

    async def _store(self, message: UserMessage | CustomMessage | ToolResultMessage) -> None:
        self._transcript.append(message)
        await self._bus.publish(MessageStart(message.id, _role(message)))
        await self._bus.publish(MessageEnd(message))

    async def _move(self, target: Phase, reason: str) -> None:
        await self._bus.publish(self._state.move(target, reason))

    def _executor(self, tools: tuple[Tool, ...]) -> ToolExecutor:
        parts = self._parts
        preparer = Preparer(
            run_id=self.run_id,
            tools={tool.spec.name: tool for tool in tools},
            hooks=self._hooks,
            permissions=parts.permissions,
            approvals=self._approvals,
            plan=parts.files.plan if parts.files is not None else None,
            signal=self._signal,
            limit=parts.settings.hook_limit,
            new_id=parts.new_id,
            on_stop=self._stop,
        )
        return ToolExecutor(
            preparer=preparer,
            hooks=self._hooks,
            bus=self._bus,
            state=self._state,
            signal=self._signal,
            settings=parts.settings,
            clock=parts.clock,
        )

    def _stop(self) -> None:
        """The user answered a question with stop, which is an abort."""
        self.hand_back()
        self._bus.set_limit(self._parts.settings.abort_listener_limit)
        self._signal.set()

    def _user_message(self, content: tuple[UserBlock, ...], queue_id: str | None) -> UserMessage:
        return UserMessage(self._parts.new_id("msg"), content, self._parts.clock.now(), queue_id)

    def _custom(self, name: str, content: tuple[UserBlock, ...]) -> CustomMessage:
        return CustomMessage(
            self._parts.new_id("msg"), content, self._parts.clock.now(), name, for_model=True
        )

    def _result_message(self, call: ToolCall, end: CallEnd) -> ToolResultMessage:
        return ToolResultMessage(
            self._parts.new_id("msg"),
            end.result.content,
            self._parts.clock.now(),
            call.id,
            call.name,
            end.result.is_error,
        )


def _queued(inputs: Sequence[Input]) -> list[QueuedItem]:
    return [item for item in inputs if isinstance(item, QueuedItem)]


def _role(message: UserMessage | CustomMessage | ToolResultMessage) -> Role:
    match message:
        case UserMessage():
            return "user"
        case CustomMessage():
            return "custom"
        case ToolResultMessage():
            return "toolResult"
