"""Reads a provider's stream in a task of its own, so that an abort never waits for the provider."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from types import TracebackType

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.foreign import described
from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.ports import ModelProvider
from pilothouse_agent.kernel.request import Failed, Finished, ModelRequest, StreamEvent

__all__ = ["StreamPump"]

logger = logging.getLogger(__name__)

_ROOM = 64
"""Events read ahead before the provider is made to wait: few, so that an abort gets its turn between them."""
_NO_FINAL_EVENT = Failed(
    ErrorInfo(
        "incompleteStream",
        "The answer ended without its final event; the connection may have been cut.",
        retryable=True,
    )
)


class StreamPump:
    """Async context manager over one request; `next_batch` hands out what has come.

    The last batch ends with a terminal event, whatever the provider does, unless the run is
    aborted: then there are no more batches.
    """

    def __init__(
        self, provider: ModelProvider, request: ModelRequest, signal: AbortSignal, *, close_limit: float
    ) -> None:
        self._provider = provider
        self._request = request
        self._signal = signal
        self._close_limit = close_limit
        self._events: list[StreamEvent] = []
        self._ended = False
        """The provider has said its last; what it does now is clean-up."""
        self._ready = asyncio.Event()
        self._room = asyncio.Event()

    async def __aenter__(self) -> StreamPump:
        self._task = asyncio.create_task(self._read())
        self._forget = self._signal.on_abort(self._stop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            await self._given_time()
        self._cancel()
        await self._given_time()
        self._forget()
        self._task.cancel()

    async def _given_time(self) -> None:
        if not self._task.done():
            await asyncio.wait({self._task}, timeout=self._close_limit)

    async def next_batch(self) -> list[StreamEvent] | None:
        """What has come since the last call, or None at an abort. After the terminal event nothing comes."""
        while not self._events and not self._signal.aborted:
            self._ready.clear()
            await self._ready.wait()
        if self._signal.aborted:
            return None
        batch, self._events = self._events, []
        self._room.set()
        return batch

    async def _read(self) -> None:
        try:
            await self._read_to_terminal()
        except asyncio.CancelledError:
            # By an abort or the end of the request, then nobody reads on; else by the provider itself.
            self._put(_NO_FINAL_EVENT)
            raise
        except BaseException as error:
            logger.exception("The provider raised")
            self._put(Failed(ErrorInfo("internal", f"The model provider failed: {_said(error)}")))

    async def _read_to_terminal(self) -> None:
        stream = self._provider.stream(self._request)
        try:
            async for event in stream:
                self._put(event)
                if isinstance(event, Finished | Failed):
                    self._ended = True
                    return
                if len(self._events) >= _ROOM:
                    self._room.clear()
                    await self._room.wait()
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        self._put(_NO_FINAL_EVENT)

    def _put(self, event: StreamEvent) -> None:
        self._events.append(event)
        self._ready.set()

    def _stop(self) -> None:
        self._cancel()
        self._ready.set()

    def _cancel(self) -> None:
        """Once: a second time would interrupt the provider while it closes its connection."""
        if not self._task.cancelling():
            self._task.cancel()


def _said(error: BaseException) -> str:
    name, _, text = described(error).partition(": ")
    return text or name
