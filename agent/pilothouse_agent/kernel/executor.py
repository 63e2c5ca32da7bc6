"""Runs the calls of one assistant message: prepared in order, bodies as their footprints allow (T1 to T9)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.abort import Aborted
from pilothouse_agent.kernel.body import Body
from pilothouse_agent.kernel.context import RunContext
from pilothouse_agent.kernel.events import (
    FileChanged,
    Notice,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from pilothouse_agent.kernel.foreign import described
from pilothouse_agent.kernel.hook_runner import HookFailed
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.ports import Tool
from pilothouse_agent.kernel.prepare import Bound, Preparer
from pilothouse_agent.kernel.results import CallEnd, aborted, failed, finished
from pilothouse_agent.kernel.schedule import dependencies

__all__ = ["ToolExecutor"]

_LEFT_BEHIND = "Aborted: it did not stop in time, and what it does from now on is not known."
_WRITE_UNKNOWN = "Aborted during a write whose outcome is unknown. Read the file before changing it again."


_News: TypeAlias = Literal["progress", "end"]


@dataclass(slots=True)
class _Entry:
    """A call on its way through execute and finalise."""

    bound: Bound
    started: float
    body: Body
    end: CallEnd | None = None
    task: asyncio.Task[None] | None = None
    settled_at: float = 0
    """When the outcome of a write was known that was in flight at the abort."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """The body and its after hook have ended, whatever came of them."""


class ToolExecutor:
    """For one batch; gives exactly one end a call."""

    def __init__(self, context: RunContext, tools: Sequence[Tool]) -> None:
        self._preparer = Preparer(context, tools)
        self._context = context
        self._signal = context.signal
        self._settings = context.parts.settings
        self._clock = context.parts.clock
        self._slots = asyncio.Semaphore(self._settings.parallel)
        self._inbox: asyncio.Queue[tuple[_Entry, _News] | None] = asyncio.Queue()
        """What is to be published, in the order it happened; None tells of the abort."""
        self._aborted_at: float | None = None

    async def run(self, calls: Sequence[ToolCall]) -> tuple[CallEnd, ...]:
        """Prepare every call, then execute those that may run; ends are in call order, one a call."""
        prepared = [await self._prepare(call) for call in calls]
        await self._execute([entry for entry in prepared if isinstance(entry, _Entry)])
        ends = (entry.end if isinstance(entry, _Entry) else entry for entry in prepared)
        return tuple(end or aborted() for end in ends)

    async def refuse(self, calls: Sequence[ToolCall], end: CallEnd) -> tuple[CallEnd, ...]:
        """Give every call this end without preparing it."""
        for call in calls:
            bound = await self._preparer.bind(call)
            started = await self._publish_start(call, bound)
            await self._publish_end(call, end, started)
        return (end,) * len(calls)

    async def _prepare(self, call: ToolCall) -> _Entry | CallEnd:
        bound = await self._preparer.bind(call)
        started = await self._publish_start(call, bound)
        if self._signal.aborted:
            bound = aborted()
        elif isinstance(bound, Bound):
            bound = await self._preparer.admit(bound)
        if isinstance(bound, CallEnd):
            return await self._publish_end(call, bound, started)
        body = Body(call.id, self._signal, self._context.state, bound.consent)
        entry = _Entry(bound, started, body)
        body.on_progress = lambda: self._inbox.put_nowait((entry, "progress"))
        body.on_settled = lambda: self._write_settled(entry)
        return entry

    async def _execute(self, entries: list[_Entry]) -> None:
        if not entries:
            return
        waits = dependencies([entry.bound.footprint for entry in entries])
        for entry, earlier in zip(entries, waits, strict=True):
            entry.task = asyncio.create_task(self._run_body(entry, [entries[index] for index in earlier]))
            entry.task.add_done_callback(lambda _, entry=entry: self._body_over(entry))
        forget = self._signal.on_abort(lambda: self._abort(entries))
        try:
            await self._publish_until_over(entries)
        finally:
            forget()
            for entry in entries:
                if entry.task is not None:
                    entry.task.cancel()

    async def _run_body(self, entry: _Entry, earlier: list[_Entry]) -> None:
        """Wait for the calls it conflicts with and for a slot, run, finalise."""
        for other in earlier:
            await other.over.wait()
        async with self._slots:
            if self._signal.aborted:
                return
            # What was waited for before, a person's answer among it, is not the call's own time.
            entry.started = self._clock.monotonic()
            end = await entry.body.run(entry.bound.invocation)
            end = await self._finalise(entry.bound.call, end)
            # Not as the task's result, which a cancellation in its last step would take away.
            entry.end = entry.end or end

    async def _finalise(self, call: ToolCall, end: CallEnd) -> CallEnd:
        """The after hook; what a failing hook cannot undo (files changed) is still told."""
        if self._signal.aborted or end.outcome in ("aborted", "denied"):
            return end
        try:
            return finished(await self._context.hooks.after(call, end.result))
        except HookFailed as error:
            failure = failed(str(error))
            return replace(failure, result=replace(failure.result, effects=end.result.effects))
        except Aborted:
            return end

    def _body_over(self, entry: _Entry) -> None:
        if entry.end is None and entry.task is not None:
            entry.end = _end_without_result(entry.task)
        entry.over.set()
        self._inbox.put_nowait((entry, "end"))

    def _abort(self, entries: Sequence[_Entry]) -> None:
        """Cancel the bodies now, whoever is being waited for (A5); a write in flight ends first (F4)."""
        self._aborted_at = asyncio.get_running_loop().time()
        for entry in entries:
            _cancel(entry)
        self._inbox.put_nowait(None)

    def _write_settled(self, entry: _Entry) -> None:
        """What the abort could not cancel then is cancelled now, and has its grace from here (T7).

        A step later, so that a body with nothing left to wait for ends by itself.
        """
        loop = asyncio.get_running_loop()
        entry.settled_at = loop.time()
        loop.call_soon(_cancel, entry)
        self._inbox.put_nowait(None)

    async def _publish_until_over(self, entries: list[_Entry]) -> None:
        """Progress and ends of the whole batch, one at a time, in the order they happen (T3)."""
        left = list(entries)
        while left:
            try:
                async with asyncio.timeout_at(self._next_deadline(left)):
                    news = await self._inbox.get()
            except TimeoutError:
                left = await self._give_up(left)
                continue
            if news is None or news[0] not in left:
                continue
            entry = news[0]
            await self._publish_progress(entry)
            if news[1] == "end" and entry.end is not None:
                left.remove(entry)
                await self._close(entry, entry.end)

    def _next_deadline(self, left: Sequence[_Entry]) -> float | None:
        if self._aborted_at is None:
            return None
        return min((self._deadline(entry) for entry in left if entry.end is None), default=None)

    def _deadline(self, entry: _Entry) -> float:
        """When its body is given up: a grace after it was told to stop, a write at its own limit (T7)."""
        aborted_at = self._aborted_at or 0
        if entry.body.in_write:
            return aborted_at + self._settings.write_limit
        return max(aborted_at, entry.settled_at) + self._settings.grace

    async def _give_up(self, left: list[_Entry]) -> list[_Entry]:
        """Synthetic ends for bodies that outlast their time; those that still have some are returned."""
        kept: list[_Entry] = []
        for entry in left:
            if entry.end is not None or asyncio.get_running_loop().time() < self._deadline(entry):
                kept.append(entry)
                continue
            entry.end = aborted(_WRITE_UNKNOWN if entry.body.in_write else _LEFT_BEHIND)
            name = entry.bound.call.name
            self._context.bus.post(
                Notice("warning", f"{name} did not stop when the run was aborted.", "abortIgnored")
            )
            await self._close(entry, entry.end)
        return kept

    async def _close(self, entry: _Entry, end: CallEnd) -> None:
        entry.body.close()
        entry.end = await self._publish_end(entry.bound.call, end, entry.started)

    async def _publish_start(self, call: ToolCall, bound: Bound | CallEnd) -> float:
        """Returns the start time of the call, for its duration."""
        started = self._clock.monotonic()
        if isinstance(bound, Bound):
            event = ToolExecutionStart(
                call.id, call.name, bound.kind, call.arguments, bound.title, locations=bound.locations
            )
        else:
            event = ToolExecutionStart(
                call.id, call.name, "other", call.arguments, call.name, call.arguments_text
            )
        await self._context.bus.publish(event)
        return started

    async def _publish_progress(self, entry: _Entry) -> None:
        text, dropped = entry.body.take_progress()
        if text:
            await self._context.bus.publish(ToolExecutionUpdate(entry.bound.call.id, text, dropped))

    async def _publish_end(self, call: ToolCall, end: CallEnd, started: float) -> CallEnd:
        """The end as it is told to the model too."""
        end = end.within(lines=self._settings.output_lines, size=self._settings.output_bytes)
        for effect in end.result.effects:
            if isinstance(effect, FileChanged):
                effect = replace(effect, tool_call_id=call.id)
            await self._context.bus.publish(effect)
        await self._context.bus.publish(
            ToolExecutionEnd(
                call.id,
                call.name,
                end.result.is_error,
                end.outcome,
                round((self._clock.monotonic() - started) * 1000),
                end.result.details,
                end.result.locations,
            )
        )
        return end


def _cancel(entry: _Entry) -> None:
    if entry.task is not None and entry.body.cancellable:
        entry.task.cancel()


def _end_without_result(task: asyncio.Task[None]) -> CallEnd:
    error = None if task.cancelled() else task.exception()
    return aborted() if error is None else failed(f"The call failed: {described(error)}")
