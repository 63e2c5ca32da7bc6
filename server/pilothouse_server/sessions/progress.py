"""A run as work-done progress, for editors that show it; cancelling it there aborts the run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    ApprovalRequested,
    ApprovalResolved,
    CompactionStart,
    Event,
    RetryScheduled,
    ToolExecutionStart,
)
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["RunProgress"]

logger = logging.getLogger(__name__)

_ANSWERED = {"allowed": "Allowed", "denied": "Rejected", "cancelled": "Stopped"}
_CREATE = 5.0
"""Seconds the client has to accept a token."""


class RunProgress:
    """A listener of one session. A token lives as long as its run."""

    def __init__(self, rpc: Rpc, abort: Callable[[], object], *, creates: bool) -> None:
        """`creates`: the client shows progress on tokens of ours as well."""
        self._rpc = rpc
        self._abort = abort
        self.creates = creates
        self._expected: tuple[str, int | str] | None = None
        """The run that comes with a token of the client's."""
        self._token: int | str | None = None
        self._doing: str | None = None
        """What was to be shown before there was a token."""
        self._asked = ""
        """What the question is about; a session has one open at a time (P2)."""
        self._creating: asyncio.Task[None] | None = None

    def __call__(self, event: Event) -> Awaitable[None] | None:
        match event:
            case AgentStart():
                self._start(event.run_id)
            case ToolExecutionStart():
                self._does(event.title)
            case ApprovalRequested():
                self._asked = event.title
                self._does(f"Waiting for you: {event.title}?")
            case ApprovalResolved():
                self._does(f"{_ANSWERED[event.decision]}: {self._asked}")
            case RetryScheduled():
                self._does(f"Trying again in {event.delay_ms / 1000:g} s: {event.reason}")
            case CompactionStart():
                self._does("Making room: the beginning of the conversation is summarised")
            case AgentEnd():
                self._end(event.stop_reason)
            case _:
                pass
        return None

    def expect(self, run_id: str, token: int | str) -> None:
        self._expected = run_id, token

    def cancel(self, token: object) -> None:
        if self._token is not None and token == self._token:
            self._abort()

    def _start(self, run_id: str) -> None:
        expected, self._expected = self._expected, None
        if expected is not None and expected[0] == run_id:
            self._begin(expected[1])
        elif self.creates:
            self._creating = asyncio.create_task(self._create(run_id))

    async def _create(self, run_id: str) -> None:
        token = f"pilothouse-{run_id}"
        try:
            await self._rpc.request(names.PROGRESS_CREATE, {"token": token}, limit=_CREATE)
        except (RequestFault, ClientGone, TimeoutError) as error:
            logger.info("The client shows no progress: %s", error)
            return
        self._begin(token)

    def _begin(self, token: int | str) -> None:
        self._token = token
        begin: dict[str, Any] = {"kind": "begin", "title": "Pilothouse", "cancellable": True}
        self._report(begin if self._doing is None else {**begin, "message": self._doing})

    def _does(self, message: str) -> None:
        self._doing = message
        self._report({"kind": "report", "message": message})

    def _report(self, value: dict[str, Any]) -> None:
        if self._token is not None:
            self._rpc.notify(names.PROGRESS, {"token": self._token, "value": value})

    def _end(self, message: str) -> None:
        self._report({"kind": "end", "message": message})
        self._token = self._doing = None
        if self._creating is not None:
            self._creating.cancel()
            self._creating = None
