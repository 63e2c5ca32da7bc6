"""The provider `openai`: the Responses API, which gives OpenAI's models their thinking back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pilothouse_agent.models.http.server_settings import ServerSettings
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.http.wire_provider import WireProvider
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model
from pilothouse_agent.models.responses.request import CONCESSIONS, ResponsesRequests
from pilothouse_agent.models.responses.stream import ORIGIN, ResponsesStream

__all__ = ["OpenAIResponses", "ResponsesSettings"]

_CHAT = "openai-chat"
_HOME = "api.openai.com"
_DEFAULT_ADDRESS = f"https://{_HOME}/v1"


@dataclass(frozen=True, slots=True)
class ResponsesSettings(ServerSettings):
    paths: ClassVar[tuple[str, ...]] = ("/responses",)
    home: ClassVar[str] = _HOME

    name: str = ORIGIN
    address: str = _DEFAULT_ADDRESS
    """Up to and without `/responses`."""
    key_name: str = "OPENAI_API_KEY"
    address_name: str = "OPENAI_BASE_URL"

    @property
    def elsewhere(self) -> str:
        how = f'set providers.{self.name}.format to "{_CHAT}"'
        if self.name == ORIGIN:
            how = f"name the model {_CHAT}/…"
        return f"Where a server speaks only Chat Completions, {how}."

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ResponsesSettings:
        return cls(
            address=environment.get("OPENAI_BASE_URL", "").strip() or _DEFAULT_ADDRESS,
            key=environment.get("OPENAI_API_KEY", "").strip(),
        )


class OpenAIResponses(WireProvider):
    def __init__(
        self,
        settings: ResponsesSettings,
        *,
        timeouts: Timeouts | None = None,
        traits: TraitsOf = unknown_model,
    ) -> None:
        headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
        super().__init__(
            settings,
            ResponsesRequests(),
            ResponsesStream,
            headers=headers,
            concessions=CONCESSIONS,
            timeouts=timeouts,
            traits=traits,
        )
