"""A loopback model server for each test, and providers that talk to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.models.choosing.wire_formats import Provider, make_provider
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.keys.credentials import Credential
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model
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
        entry: JsonObject = {"baseUrl": server.url, "headers": dict(headers or {})}
        configs, _ = read_providers({wire: entry}, {})
        credential = Credential(key, "environment") if key else None
        limits = timeouts or Timeouts(4, 4)
        made.append(make_provider(configs[wire], credential, timeouts=limits, traits=traits))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()


@pytest.fixture
def chat(provider: MakeProvider) -> MakeChat:
    def make(*, key: str = "", timeouts: Timeouts | None = None) -> Provider:
        return provider("openai-chat", key=key, timeouts=timeouts)

    return make
