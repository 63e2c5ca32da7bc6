"""Makes the provider object of a wire format, whose modules are loaded by the first one that speaks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from pilothouse_agent.kernel.ports import ModelProvider
from pilothouse_agent.kernel.request import ModelRequest, StreamEvent
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.keys.credentials import Credential
from pilothouse_agent.models.model_traits import TraitsOf

__all__ = ["Provider", "make_provider"]


class Provider(ModelProvider, Protocol):
    """A provider that may hold something, such as a connection."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]: ...

    async def warm(self) -> None:
        """Load what the first request would have to wait for."""
        ...

    async def aclose(self) -> None: ...


def make_provider(
    config: ProviderConfig, credential: Credential | None, *, timeouts: Timeouts, traits: TraitsOf
) -> Provider:
    """Imports: call it in a thread."""
    key = credential.key if credential is not None else ""
    place = credential.place(config) if credential is not None else config.key_name
    where = (config.name, config.address, key, place, config.address_name, config.headers, config.start)
    match config.format:
        case "openai":
            from pilothouse_agent.models.responses.provider import OpenAIResponses, ResponsesSettings

            return OpenAIResponses(ResponsesSettings(*where), timeouts=timeouts, traits=traits)
        case "openai-chat":
            from pilothouse_agent.models.chat_completions.provider import ChatSettings, OpenAIChat

            return OpenAIChat(ChatSettings(*where, config.dialect), timeouts=timeouts, traits=traits)
        case "anthropic":
            from pilothouse_agent.models.messages.provider import Anthropic, AnthropicSettings

            return Anthropic(AnthropicSettings(*where), timeouts=timeouts, traits=traits)
