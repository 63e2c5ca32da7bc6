"""Runs the calls of one assistant message: prepared in order, bodies as their footprints allow (T1 to T9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.abort import Aborted, AbortSignal
from pilothouse_agent.kernel.body import Body
from pilothouse_agent.kernel.bus import EventBus
from pilothouse_agent.kernel.events import (
    FileChanged,
    Notice,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from pilothouse_agent.kernel.hooks import HookFailed, HookRunner
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.ports import Clock
from pilothouse_agent.kernel.prepare import Bound, Preparer
from pilothouse_agent.kernel.results import CallEnd, aborted, failed, finished
from pilothouse_agent.kernel.schedule import dependencies
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.state import State

__all__ = ["BatchEnd", "ToolExecutor"]

_LEFT_BEHIND = "Aborted: it did not stop in time, and what it does from now on is not known."
_WRITE_UNKNOWN = "Aborted during a write whose outcome is unknown. Read the file before changing it again."


@dataclass(frozen=True, slots=True)
class BatchEnd:
    ends: tuple[CallEnd, ...]
    """In call order, one a call."""
    stop: bool = False
    """The user answered a question with stop: the run is to end."""


_News: TypeAlias = Literal["progress", "end"]


@dataclass(slots=True)
class _Entry:
    """A call on its way through execute and finalise."""

    bound: Bound
    started: float
    body: Body
    end: CallEnd | None = None
    task: asyncio.Task[CallEnd] | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """The body and its after hook have ended, whatever came of them."""


class ToolExecutor:
    """For one batch; gives exactly one end a call."""

    def __init__(
        self,
        *,
        preparer: Preparer,
        hooks: HookRunner,
        bus: EventBus,
        state: State,
        signal: AbortSignal,
        settings: RunSettings,
        clock: Clock,
        on_stop: Callable[[], object],
    ) -> None:
        self._preparer = preparer
        self._hooks = hooks
        self._bus = bus
        self._state = state
        self._signal = signal
        self._settings = settings
        self._clock = clock
        self._on_stop = on_stop
        self._slots = asyncio.Semaphore(settings.parallel)
        self._inbox: asyncio.Queue[tuple[_Entry, _News] | None] = asyncio.Queue()
        """What is to be published, in the order it happened; None tells of the abort."""
        self._aborted_at: float | None = None

    async def run(self, calls: Sequence[ToolCall]) -> BatchEnd:
        """Prepare every call, then execute those that may run; ends are in call order."""
        prepared = [await self._prepare(call) for call in calls]
        await self._execute([entry for entry in prepared if isinstance(entry, _Entry)])
        ends = [entry.end if isinstance(entry, _Entry) else entry for entry in prepared]
        return BatchEnd(tuple(end or aborted() for end in ends), self._preparer.stop)

    async def refuse(self, calls: Sequence[ToolCall], end: CallEnd) -> BatchEnd:
        """Give every call this end without preparing it."""
        for call in calls:
            bound = await self._preparer.bind(call)
            started = await self._publish_start(call, bound)
            await self._publish_end(call, end, started)
        return BatchEnd((end,) * len(calls))

    async def _prepare(self, call: ToolCall) -> _Entry | CallEnd:
        bound = await self._preparer.bind(call)
        started = await self._publish_start(call, bound)
        if self._signal.aborted:
            bound = aborted()
        elif isinstance(bound, Bound):
            bound = await self._preparer.admit(bound)
            if self._preparer.stop:
                self._on_stop()
        if isinstance(bound, CallEnd):
            await self._publish_end(call, bound, started)
            return bound
        body = Body(call.id, self._signal, self._state, bound.consent)
        entry = _Entry(bound, started, body)
        body.on_progress = lambda: self._inbox.put_nowait((entry, "progress"))
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

    async def _run_body(self, entry: _Entry, earlier: list[_Entry]) -> CallEnd:
        """Wait for the calls it conflicts with and for a slot, run, finalise."""
        for other in earlier:
            await other.over.wait()
        async with self._slots:
            if self._signal.aborted:
                return aborted()
            # What was waited for before, a person's answer among it, is not the call's own time.
            entry.started = self._clock.monotonic()
            end = await entry.body.run(entry.bound.invocation)
            return await self._finalise(entry.bound.call, end)

    async def _finalise(self, call: ToolCall, end: CallEnd) -> CallEnd:
        """The after hook; what a failing hook cannot undo (files changed) is still told."""
        if self._signal.aborted or end.outcome == "aborted":
            return end
        try:
            return finished(await self._hooks.after(call, end.result))
        except HookFailed as error:
            failure = failed(str(error))
            return replace(failure, result=replace(failure.result, effects=end.result.effects))
        except Aborted:
            return end

    def _body_over(self, entry: _Entry) -> None:
        if entry.end is None and entry.task is not None:
            entry.end = _end_of(entry.task)
        entry.over.set()
        self._inbox.put_nowait((entry, "end"))

    def _abort(self, entries: Sequence[_Entry]) -> None:
        """Cancel the bodies now, whoever is being waited for (A5); a write in flight ends first (F4)."""
        self._aborted_at = asyncio.get_running_loop().time()
        for entry in entries:
            if entry.task is not None and entry.body.cancellable:
                entry.task.cancel()
        self._inbox.put_nowait(None)

    async def _publish_until_over(self, entries: list[_Entry]) -> None:
        """Progress and ends of the whole batch, one at a time, in the order they happen (T3)."""
        left = list(entries)
        grace_over = False
        while left:
            try:
                async with asyncio.timeout_at(self._deadline(grace_over=grace_over)):
                    news = await self._inbox.get()
            except TimeoutError:
                left = await self._give_up(left, write_time_over=grace_over)
                grace_over = True
                continue
            if news is None or news[0] not in left:
                continue
            entry = news[0]
            await self._publish_progress(entry)
            if news[1] == "end" and entry.end is not None:
                left.remove(entry)
                await self._close(entry, entry.end)

    def _deadline(self, *, grace_over: bool) -> float | None:
        """When bodies are given up after an abort: first at the grace, then at the write limit (T7)."""
        if self._aborted_at is None:
            return None
        grace, write_limit = self._settings.grace, self._settings.write_limit
        return self._aborted_at + (write_limit if grace_over else min(grace, write_limit))

    async def _give_up(self, left: list[_Entry], *, write_time_over: bool) -> list[_Entry]:
        """Synthetic ends for bodies that outlast the abort; a write in flight is given longer (T7)."""
        kept: list[_Entry] = []
        for entry in left:
            if entry.end is not None or (entry.body.in_write and not write_time_over):
                kept.append(entry)
                continue
            entry.end = aborted(_WRITE_UNKNOWN if entry.body.in_write else _LEFT_BEHIND)
            name = entry.bound.call.name
            self._bus.post(
                Notice("warning", f"{name} did not stop when the run was aborted.", "abortIgnored")
            )
            await self._close(entry, entry.end)
        return kept

    async def _close(self, entry: _Entry, end: CallEnd) -> None:
        entry.body.close()
        await self._publish_end(entry.bound.call, end, entry.started)

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
        await self._bus.publish(event)
        return started

    async def _publish_progress(self, entry: _Entry) -> None:
        text, dropped = entry.body.take_progress()
        if text:
            await self._bus.publish(ToolExecutionUpdate(entry.bound.call.id, text, dropped))

    async def _publish_end(self, call: ToolCall, end: CallEnd, started: float) -> None:
        for effect in end.result.effects:
            if isinstance(effect, FileChanged):
                effect = replace(effect, tool_call_id=call.id)
            await self._bus.publish(effect)
        await self._bus.publish(
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


def _end_of(task: asyncio.Task[CallEnd]) -> CallEnd:
    if task.cancelled():
        return aborted()
    error = task.exception()
    return task.result() if error is None else failed(f"The call failed: {type(error).__name__}: {error}")
