"""Runs the calls of one assistant message: prepared in order, bodies as their footprints allow (T1 to T9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

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
        self._inbox: asyncio.Queue[_Entry | None] = asyncio.Queue()
        """Entries with progress or an end to publish; None tells of the abort."""

    async def run(self, calls: Sequence[ToolCall]) -> BatchEnd:
        """Prepare every call, then execute those that may run; ends are in call order."""
        prepared = [await self._prepare(call) for call in calls]
        await self._execute([entry for entry in prepared if isinstance(entry, _Entry)])
        ends = [entry.end if isinstance(entry, _Entry) else entry for entry in prepared]
        return BatchEnd(tuple(end or aborted() for end in ends), self._preparer.stop)

    async def refuse(self, calls: Sequence[ToolCall], end: CallEnd) -> BatchEnd:
        """Give every call this end without preparing it."""
        for call in calls:
            bound = self._preparer.bind(call)
            started = await self._publish_start(call, bound)
            await self._publish_end(call, end, started)
        return BatchEnd((end,) * len(calls))

    async def _prepare(self, call: ToolCall) -> _Entry | CallEnd:
        bound = self._preparer.bind(call)
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
        body = Body(call.id, self._signal, self._state)
        entry = _Entry(bound, started, body)
        body.on_progress = lambda: self._inbox.put_nowait(entry)
        return entry

    async def _execute(self, entries: list[_Entry]) -> None:
        if not entries:
            return
        waits = dependencies([entry.bound.invocation.footprint for entry in entries])
        for entry, earlier in zip(entries, waits, strict=True):
            entry.task = asyncio.create_task(self._run_body(entry, [entries[index] for index in earlier]))
            entry.task.add_done_callback(lambda _, entry=entry: self._body_over(entry))
        forget = self._signal.on_abort(lambda: self._inbox.put_nowait(None))
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
        self._inbox.put_nowait(entry)

    async def _publish_until_over(self, entries: list[_Entry]) -> None:
        """Progress and ends of the whole batch, one at a time, in the order they happen (T3)."""
        loop = asyncio.get_running_loop()
        left = list(entries)
        aborted_at = deadline = None
        while left:
            try:
                async with asyncio.timeout_at(deadline):
                    entry = await self._inbox.get()
            except TimeoutError:
                assert aborted_at is not None
                left = await self._give_up(left, write_time_over=loop.time() >= self._write_end(aborted_at))
                deadline = self._write_end(aborted_at)
                continue
            if entry is None:
                aborted_at = loop.time()
                deadline = aborted_at + min(self._settings.grace, self._settings.write_limit)
                _cancel(left)
            elif entry in left:
                await self._publish_progress(entry)
                if entry.end is not None:
                    left.remove(entry)
                    await self._close(entry, entry.end)

    def _write_end(self, aborted_at: float) -> float:
        return aborted_at + self._settings.write_limit

    async def _give_up(self, left: list[_Entry], *, write_time_over: bool) -> list[_Entry]:
        """Synthetic ends for bodies that outlast the abort; a write in flight is given longer (T7)."""
        kept: list[_Entry] = []
        for entry in left:
            if entry.body.in_write and not write_time_over:
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
            kind, invocation = bound.tool.kind, bound.invocation
            event = ToolExecutionStart(
                call.id, call.name, kind, call.arguments, invocation.title, locations=invocation.locations
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


def _cancel(entries: Sequence[_Entry]) -> None:
    """Cancel the bodies; one with a write in flight finishes it first (F4)."""
    for entry in entries:
        if entry.task is not None and not entry.body.in_write:
            entry.task.cancel()
