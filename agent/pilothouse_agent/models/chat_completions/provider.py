"""The provider `openai-chat`: Chat Completions of OpenAI and of the many servers compatible with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from pilothouse_agent.models.chat_completions.concessions import CONCESSIONS
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.chat_completions.stream import ORIGIN, ChatStream
from pilothouse_agent.models.http.server_settings import ServerSettings
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.http.wire_provider import WireProvider
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model

__all__ = ["ChatSettings", "OpenAIChat"]

_HOME = "api.openai.com"
_DEFAULT_ADDRESS = f"https://{_HOME}/v1"


@dataclass(frozen=True, slots=True)
class ChatSettings(ServerSettings):
    paths: ClassVar[tuple[str, ...]] = ("/chat/completions",)
    home: ClassVar[str] = _HOME

    name: str = ORIGIN
    address: str = _DEFAULT_ADDRESS
    """Up to and without `/chat/completions`."""
    key_name: str = "OPENAI_API_KEY"
    address_name: str = "OPENAI_BASE_URL"
    dialect: ChatDialect = field(default_factory=ChatDialect)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ChatSettings:
        return cls(
            address=environment.get("OPENAI_BASE_URL", "").strip() or _DEFAULT_ADDRESS,
            key=environment.get("OPENAI_API_KEY", "").strip(),
        )


class OpenAIChat(WireProvider):
    def __init__(
        self,
        settings: ChatSettings,
        *,
        timeouts: Timeouts | None = None,
        traits: TraitsOf = unknown_model,
    ) -> None:
        headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
        super().__init__(
            settings,
            ChatRequests(settings.dialect),
            partial(ChatStream, states_cost=settings.dialect.states_cost),
            headers=headers,
            concessions=CONCESSIONS,
            timeouts=timeouts,
            traits=traits,
        )
