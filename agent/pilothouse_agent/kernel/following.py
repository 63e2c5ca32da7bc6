"""What follows a turn: another one, or the run's end (L4, L8, T9, A8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pilothouse_agent.kernel.abort import Aborted
from pilothouse_agent.kernel.context import RunContext
from pilothouse_agent.kernel.events import Notice, QueuedItem, RunStop
from pilothouse_agent.kernel.foreign import guarded
from pilothouse_agent.kernel.guards import todo_reminder
from pilothouse_agent.kernel.hooks import OneMoreTurn, StopRun
from pilothouse_agent.kernel.messages import CustomMessage, ErrorInfo, ToolCall, UserMessage, text_of
from pilothouse_agent.kernel.reply import Reply
from pilothouse_agent.kernel.results import CallEnd

__all__ = ["Ending", "Following", "Input", "WhatFollows"]

Input: TypeAlias = UserMessage | CustomMessage | QueuedItem
"""What a turn can begin with."""


@dataclass(frozen=True, slots=True)
class Ending:
    stop_reason: RunStop
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class WhatFollows:
    """What a turn leaves to do."""

    ending: Ending
    """How the run ends if nothing more is to be done."""
    final: bool = False
    """The run ends here, whatever is queued."""
    goes_on: bool = False
    """Another request is due: results to send, a resume, a pause."""
    follow: tuple[CustomMessage, ...] = ()
    """What the next turn begins with."""
    answered: bool = False
    """The model has said its last and called nothing."""


class Following:
    """Decides it for one run; counts what may happen only so often in it."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._guarded = 0
        self._empty_answers = 0

    def judge(self, reply: Reply, ends: tuple[CallEnd, ...], looping: ToolCall | None) -> WhatFollows:
        """`looping` is the call at which the loop guard ends the run."""
        message = reply.message
        if reply.failure is not None or message is None:
            return WhatFollows(Ending("error", reply.failure), final=True)
        if looping is not None:
            text = f"The model repeated one call of {looping.name} with the same result; the run was ended."
            return WhatFollows(Ending("error", ErrorInfo("loop", text)), final=True)
        if reply.resume or message.stop_reason == "interrupted":
            return WhatFollows(Ending("error"), goes_on=True, follow=reply.resume)
        if ends and message.stop_reason != "refusal":
            terminated = all(end.result.terminate for end in ends)
            return WhatFollows(Ending("completed"), goes_on=not terminated)
        match message.stop_reason:
            case "length":
                return WhatFollows(Ending("length"))
            case "refusal":
                return WhatFollows(Ending("refused"))
            case _ if not reply.paused and not text_of(message.content).strip():
                return self._said_nothing()
            case _:
                return WhatFollows(Ending("completed"), goes_on=reply.paused, answered=True)

    async def after(self, turn: WhatFollows) -> list[Input] | Ending:
        """The next turn's input, or how the run ends; then the queues are closed (Q2)."""
        context, queues = self._context, self._context.queues
        decision = await self._stop_decision()
        if context.signal.aborted:
            return Ending("aborted")
        if isinstance(decision, StopRun):
            return Ending("completed")
        follow, limit = turn.follow, context.parts.settings.max_turns
        last = context.state.turn >= limit
        if isinstance(decision, OneMoreTurn) and not last and self._may_send_on():
            follow = (*follow, context.custom("stopHook", decision.message))
        elif not (last or turn.goes_on or follow or queues):
            follow = self._todo_guard(turn)
        if not (turn.goes_on or follow or queues):
            queues.closed = True
            return turn.ending
        if last:
            text = f"The run was ended at its limit of {limit} turns (run.maxTurns)."
            return Ending("maxTurns", ErrorInfo("maxTurns", text))
        queued = queues.poll("steering")
        if not queued and not turn.goes_on and not follow:
            queued = queues.poll("followUp")
        return [*follow, *queued]

    def _said_nothing(self) -> WhatFollows:
        """Neither text nor calls: asked once more, then the run ends, with a word (L4)."""
        self._empty_answers += 1
        if self._empty_answers > 1:
            text = "The model gave an empty answer twice, so the run has ended without one."
            self._context.bus.post(Notice("warning", text, "emptyAnswer"))
        return WhatFollows(Ending("completed"), goes_on=self._empty_answers == 1, answered=True)

    async def _stop_decision(self) -> StopRun | OneMoreTurn | None:
        if not self._context.parts.hooks.should_stop_after_turn:
            return None
        try:
            return await self._context.hooks.should_stop(self._context.snapshot())
        except Aborted:
            return None

    def _todo_guard(self, turn: WhatFollows) -> tuple[CustomMessage, ...]:
        """A model that stops with todos unfinished is told so (L8)."""
        todos = self._context.parts.todos
        if todos is None or not turn.answered:
            return ()
        unfinished = guarded(todos.unfinished)
        if not unfinished or not self._may_send_on():
            return ()
        return (self._context.custom("guard", todo_reminder(unfinished)),)

    def _may_send_on(self) -> bool:
        self._guarded += 1
        return self._guarded <= self._context.parts.settings.guard_blocks
