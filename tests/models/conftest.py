"""A loopback model server for each test, and providers that talk to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pilothouse_agent.models.connection import Timeouts
from pilothouse_agent.models.openai_chat import ChatSettings, OpenAIChat
from support.asking import MakeChat
from support.model_server import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def chat(server: ModelServer) -> AsyncIterator[MakeChat]:
    made: list[OpenAIChat] = []

    def make(*, key: str = "", timeouts: Timeouts | None = None) -> OpenAIChat:
        provider = OpenAIChat(ChatSettings(address=server.url, key=key), timeouts=timeouts or Timeouts(4, 4))
        made.append(provider)
        return provider

    yield make
    for provider in made:
        await provider.aclose()
