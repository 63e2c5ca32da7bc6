"""Which provider answers which model id, `provider/model`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path
from typing import Protocol

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.ports import ModelProvider
from pilothouse_agent.kernel.request import Failed, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.models.connection import Timeouts
from pilothouse_agent.models.openai_chat import ChatSettings, OpenAIChat
from pilothouse_agent.models.scripted import ScriptedModel

__all__ = ["ModelRegistry", "Provider", "default_registry"]


class Provider(ModelProvider, Protocol):
    """A provider that may hold something, such as a connection."""

    async def warm(self) -> None:
        """Load what the first request would have to wait for."""
        ...

    async def aclose(self) -> None: ...


class ModelRegistry:
    """Itself a `ModelProvider`; owns its providers."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = dict(providers)

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        provider = self._provider(request.model)
        return provider.stream(request) if provider is not None else self._unknown(request.model)

    def limits(self, model: str) -> ModelLimits:
        provider = self._provider(model)
        return provider.limits(model) if provider is not None else ModelLimits()

    async def warm(self, model: str) -> None:
        """Load what the first request to this model would have to wait for."""
        provider = self._provider(model)
        if provider is not None:
            await provider.warm()

    async def aclose(self) -> None:
        for provider in self._providers.values():
            await provider.aclose()

    def _provider(self, model: str) -> Provider | None:
        name, _, rest = model.partition("/")
        return self._providers.get(name) if rest else None

    async def _unknown(self, model: str) -> AsyncGenerator[StreamEvent]:
        known = ", ".join(sorted(self._providers))
        text = f"There is no model {model!r}: an id is provider/model, and the providers are {known}."
        yield Failed(ErrorInfo("modelNotFound", text))


def default_registry(environment: Mapping[str, str], *, timeouts: Timeouts | None = None) -> ModelRegistry:
    """The built-in providers; keys, addresses and the script log come from `environment`."""
    timeouts = timeouts or Timeouts()
    log = environment.get("PILOTHOUSE_SCRIPT_LOG")
    return ModelRegistry(
        {
            "openai-chat": OpenAIChat(ChatSettings.from_environment(environment), timeouts=timeouts),
            "scripted": ScriptedModel(log=Path(log) if log else None, idle=timeouts.idle),
        }
    )
