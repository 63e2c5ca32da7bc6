"""The event bus: one order for all listeners, and no listener can harm the run (E4, E5)."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pilothouse_agent.kernel.events import AgentEnd, Event, Notice
from pilothouse_agent.kernel.foreign import contained, described

__all__ = ["EventBus", "Listener"]

Listener: TypeAlias = Callable[[Event], Awaitable[None] | None]
"""Called with each event; an awaitable it returns is awaited before the next listener is served."""

logger = logging.getLogger(__name__)


class _Subscription:
    __slots__ = ("active", "listener", "reported")

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.active = True
        self.reported = False


class EventBus:
    """Delivers events one at a time, to listeners in order of subscription.

    `apply` takes each event in before the listeners see it. A listener that waits longer than
    `limit` seconds is cancelled and unsubscribed.
    """

    def __init__(self, apply: Callable[[Event], None], *, limit: float) -> None:
        self._apply = apply
        self._subscriptions: tuple[_Subscription, ...] = ()
        self._posted: deque[tuple[Event, asyncio.Future[None] | None]] = deque()
        self._delivering = False
        self._drain_task: asyncio.Task[None] | None = None
        self._watchdog = _Watchdog(limit)
        self._listener_tasks: set[asyncio.Future[None]] = set()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """The listener sees events from the next one on; the result unsubscribes it."""
        subscription = _Subscription(listener)
        self._subscriptions = (*self._subscriptions, subscription)
        return lambda: self._drop(subscription)

    def set_limit(self, seconds: float) -> None:
        """Change what a listener is given, also for one that is being waited for."""
        self._watchdog.set_limit(seconds)

    def in_listener(self) -> bool:
        """Whether the current task is a listener's, which must not wait for the run."""
        return asyncio.current_task() in self._listener_tasks

    def post(self, event: Event) -> None:
        """Deliver soon, after all that was published before. For callers that cannot wait."""
        self._posted.append((event, None))
        if not self._delivering and self._drain_task is None:
            self._drain_task = asyncio.ensure_future(self._drain_posted())

    async def publish(self, event: Event) -> None:
        """Returns when every listener has finished with the event, or was dropped."""
        if self._delivering or self._posted:
            await self._queue(event)
            return
        self._delivering = True
        try:
            await self._deliver(event)
            if self._posted:
                await self._drain()
        finally:
            self._delivering = False

    async def _queue(self, event: Event) -> None:
        delivered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._posted.append((event, delivered))
        if self._delivering or self._drain_task is not None:
            await delivered
        else:
            await self._drain_posted()

    async def _drain_posted(self) -> None:
        if not self._delivering:
            self._delivering = True
            try:
                await self._drain()
            finally:
                self._delivering = False
        self._drain_task = None

    async def _drain(self) -> None:
        while self._posted:
            event, delivered = self._posted.popleft()
            await self._deliver(event)
            if delivered is not None and not delivered.done():
                delivered.set_result(None)

    async def _deliver(self, event: Event) -> None:
        self._apply(event)
        for subscription in self._subscriptions:
            if not subscription.active:
                continue
            # Whatever it raises is its own failure, SystemExit and CancelledError included.
            try:
                awaitable = subscription.listener(event)
            except BaseException as error:
                self._report(subscription, event, error)
                continue
            if awaitable is not None:
                await self._serve(subscription, awaitable, event)

    async def _serve(self, subscription: _Subscription, awaitable: Awaitable[None], event: Event) -> None:
        # A task that the listener has made itself is the one that must be known as a listener's.
        own = isinstance(awaitable, asyncio.Future)
        task = awaitable if own else asyncio.ensure_future(contained(lambda: awaitable))
        self._listener_tasks.add(task)
        task.add_done_callback(self._listener_tasks.discard)
        if await self._watchdog.watch(task):
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is not None:
                self._report(subscription, event, error)
            return
        self._drop(subscription)
        text = "A listener took too long with an event and was unsubscribed."
        logger.error("%s (%s)", text, event.type)
        if not isinstance(event, AgentEnd | Notice):
            self.post(Notice("error", text, "listenerTimeout"))

    def _report(self, subscription: _Subscription, event: Event, error: BaseException) -> None:
        logger.error("A listener failed at %s", event.type, exc_info=error)
        if subscription.reported or isinstance(event, AgentEnd | Notice):
            return
        subscription.reported = True
        text = f"A listener failed at {event.type}: {described(error)}"
        self.post(Notice("error", text, "listenerFailed"))

    def _drop(self, subscription: _Subscription) -> None:
        subscription.active = False
        self._subscriptions = tuple(kept for kept in self._subscriptions if kept is not subscription)


class _Watchdog:
    """One timer for all waits: armed when a wait begins, re-armed only when it fires too early."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None
        self._gate: asyncio.Future[bool] | None = None
        self._started = 0.0

    def set_limit(self, seconds: float) -> None:
        self._limit = seconds
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gate is not None:
            self._started = asyncio.get_running_loop().time()
            self._arm(seconds)

    async def watch(self, task: asyncio.Future[None]) -> bool:
        """Whether the task ended in time; otherwise it has been cancelled."""
        loop = asyncio.get_running_loop()
        gate = self._gate = loop.create_future()
        self._started = loop.time()
        task.add_done_callback(lambda _: gate.done() or gate.set_result(True))
        if self._timer is None:
            self._arm(self._limit)
        try:
            in_time = await gate
        finally:
            self._gate = None
        if not in_time:
            task.cancel()
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return in_time

    def _arm(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self._gate is None or self._gate.done():
            return
        left = self._started + self._limit - asyncio.get_running_loop().time()
        if left > 0:
            self._arm(left)
        else:
            self._gate.set_result(False)
