"""The provider `anthropic`: the Messages API, of Anthropic and of servers compatible with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pilothouse_agent.models.http.server_settings import ServerSettings
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.http.wire_provider import WireProvider
from pilothouse_agent.models.messages.request import CONCESSIONS, AnthropicRequests
from pilothouse_agent.models.messages.stream import ORIGIN, AnthropicStream
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model

__all__ = ["Anthropic", "AnthropicSettings"]

_HOME = "api.anthropic.com"
_DEFAULT_ADDRESS = f"https://{_HOME}"
_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class AnthropicSettings(ServerSettings):
    paths: ClassVar[tuple[str, ...]] = ("/v1/messages", "/v1")
    home: ClassVar[str] = _HOME

    name: str = ORIGIN
    address: str = _DEFAULT_ADDRESS
    """Up to and without `/v1/messages`; a `/v1` at its end does no harm."""
    key_name: str = "ANTHROPIC_API_KEY"
    address_name: str = "ANTHROPIC_BASE_URL"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> AnthropicSettings:
        return cls(
            address=environment.get("ANTHROPIC_BASE_URL", "").strip() or _DEFAULT_ADDRESS,
            key=environment.get("ANTHROPIC_API_KEY", "").strip(),
        )


class Anthropic(WireProvider):
    def __init__(
        self,
        settings: AnthropicSettings,
        *,
        timeouts: Timeouts | None = None,
        traits: TraitsOf = unknown_model,
    ) -> None:
        headers = {"anthropic-version": _VERSION, **({"x-api-key": settings.key} if settings.key else {})}
        super().__init__(
            settings,
            AnthropicRequests(),
            AnthropicStream,
            headers=headers,
            concessions=CONCESSIONS,
            timeouts=timeouts,
            traits=traits,
        )
