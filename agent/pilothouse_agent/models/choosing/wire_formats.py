"""Makes the provider object of a wire format, whose modules are loaded by the first one that speaks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from pilothouse_agent.kernel.ports import ModelProvider
from pilothouse_agent.kernel.request import ModelRequest, StreamEvent
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.http.access import Access
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.http.wire_format import WireFormat
from pilothouse_agent.models.keys.credentials import Credential
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model

__all__ = ["Provider", "access_to", "make_provider", "wire_format"]


class Provider(ModelProvider, Protocol):
    """A provider that may hold something, such as a connection."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]: ...

    async def warm(self) -> None:
        """Load what the first request would have to wait for."""
        ...

    async def aclose(self) -> None: ...


def make_provider(
    config: ProviderConfig,
    credential: Credential | None,
    *,
    timeouts: Timeouts,
    traits: TraitsOf = unknown_model,
) -> Provider:
    """Imports: call it in a thread."""
    from pilothouse_agent.models.http.wire_provider import WireProvider

    access = access_to(config, credential)
    return WireProvider(wire_format(config), access, timeouts=timeouts, traits=traits)


def access_to(config: ProviderConfig, credential: Credential | None) -> Access:
    return Access(
        config.name,
        config.address,
        key=credential.key if credential is not None else "",
        key_name=credential.place(config) if credential is not None else config.key_name,
        address_name=config.address_name,
        headers=config.headers,
        start=config.start,
    )


def wire_format(config: ProviderConfig) -> WireFormat:
    match config.format:
        case "openai":
            from pilothouse_agent.models.responses.wire import responses

            return responses()
        case "openai-chat":
            from pilothouse_agent.models.chat_completions.wire import chat_completions

            return chat_completions(config.dialect)
        case "anthropic":
            from pilothouse_agent.models.messages.wire import messages

            return messages()
