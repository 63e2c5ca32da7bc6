"""A loopback model server for each test, and providers that talk to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from pilothouse_agent.models.chat_completions.provider import ChatSettings, OpenAIChat
from pilothouse_agent.models.choosing.registry import Provider
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.messages.provider import Anthropic, AnthropicSettings
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model
from pilothouse_agent.models.responses.provider import OpenAIResponses, ResponsesSettings
from support.asking import MakeChat, MakeProvider
from support.model_server import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def provider(server: ModelServer) -> AsyncIterator[MakeProvider]:
    made: list[Provider] = []

    def make(
        wire: str,
        *,
        key: str = "",
        timeouts: Timeouts | None = None,
        headers: Mapping[str, str] | None = None,
        traits: TraitsOf = unknown_model,
    ) -> Provider:
        limits = timeouts or Timeouts(4, 4)
        made.append(_provider(wire, server.url, key, dict(headers or {}), limits, traits))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


@pytest.fixture
def chat(provider: MakeProvider) -> MakeChat:
    def make(*, key: str = "", timeouts: Timeouts | None = None) -> Provider:
        return provider("openai-chat", key=key, timeouts=timeouts)

    return make


def _provider(
    wire: str, address: str, key: str, headers: dict[str, str], timeouts: Timeouts, traits: TraitsOf
) -> Provider:
    match wire:
        case "openai":
            responses = ResponsesSettings(address=address, key=key, headers=headers)
            return OpenAIResponses(responses, timeouts=timeouts, traits=traits)
        case "anthropic":
            messages = AnthropicSettings(address=address, key=key, headers=headers)
            return Anthropic(messages, timeouts=timeouts, traits=traits)
        case _:
            chat = ChatSettings(address=address, key=key, headers=headers)
            return OpenAIChat(chat, timeouts=timeouts, traits=traits)
