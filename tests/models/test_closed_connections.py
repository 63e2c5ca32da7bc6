"""An abort leaves no connection open, whatever the request was waiting for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.pump import StreamPump
from pilothouse_agent.kernel.request import Delta, ModelLimits, ModelRequest, StreamEvent
from support.asking import MakeProvider, ask, model_request
from support.model_server import Answer, ModelServer, chat_body, text_chunk
from support.providers import registry


@dataclass
class Closing:
    """A provider that needs several turns of the event loop to close its connection."""

    asked: asyncio.Event
    closed: bool = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        try:
            yield Delta("text", 0, "Hi")
            self.asked.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)
            self.closed = True

    def limits(self, model: str) -> ModelLimits:
        return ModelLimits()


async def _abort(pump: StreamPump, signal: AbortSignal, asked: asyncio.Event) -> None:
    async with asyncio.timeout(5):
        async with pump:
            await asked.wait()
            signal.set()
            # A turn in which the provider begins to close, as listeners of the abort take one.
            await asyncio.sleep(0)
            assert await pump.next_batch() is None


@pytest.mark.covers("A5", "R163")
async def test_an_abort_does_not_interrupt_a_provider_that_is_closing_its_connection() -> None:
    signal, model = AbortSignal(), Closing(asyncio.Event())
    await _abort(StreamPump(model, model_request(), signal, close_limit=1), signal, model.asked)
    assert model.closed


@pytest.mark.covers("A5", "R163")
@pytest.mark.parametrize("phase", ["first byte", "text"])
async def test_an_abort_of_a_run_closes_the_connection(
    phase: str, server: ModelServer, provider: MakeProvider
) -> None:
    begun = chat_body(text_chunk("Hi"), done=False)
    server.play(Answer(silent=True) if phase == "first byte" else Answer((begun,), end="hang"))
    signal = AbortSignal()
    pump = StreamPump(provider("openai-chat"), model_request(), signal, close_limit=1)
    await _abort(pump, signal, server.asked)
    async with asyncio.timeout(5):
        await server.left.wait()


async def test_an_abort_in_the_tls_handshake_closes_the_connection() -> None:
    greeted, left = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            greeted.set()
        left.set()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listener, asyncio.timeout(5):
        port = listener.sockets[0].getsockname()[1]
        async with registry({"mine": {"baseUrl": f"https://127.0.0.1:{port}/v1"}}) as models:
            asking = asyncio.create_task(ask(models, model_request(model="mine/m")))
            await greeted.wait()
            asking.cancel()
            await left.wait()
