"""The provider `openai`: the Responses API, which gives OpenAI's models their thinking back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from pilothouse_agent.kernel.request import ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.models.connection import Timeouts
from pilothouse_agent.models.exchange import Exchange
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model
from pilothouse_agent.models.responses_request import CONCESSIONS, ResponsesRequests
from pilothouse_agent.models.responses_stream import ORIGIN, ResponsesStream
from pilothouse_agent.models.server_settings import ServerSettings

__all__ = ["OpenAIResponses", "ResponsesSettings"]

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

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ResponsesSettings:
        return cls(
            address=environment.get("OPENAI_BASE_URL", "").strip() or _DEFAULT_ADDRESS,
            key=environment.get("OPENAI_API_KEY", "").strip(),
        )


class OpenAIResponses:
    """Keeps one HTTP client, made at the first request, until `aclose`."""

    def __init__(
        self,
        settings: ResponsesSettings,
        *,
        timeouts: Timeouts | None = None,
        traits: TraitsOf = unknown_model,
    ) -> None:
        self._traits = traits
        self._requests = ResponsesRequests()
        headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
        self._exchange = Exchange(settings, headers=headers, timeouts=timeouts, concessions=CONCESSIONS)

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        names, traits = self._requests.names(request.tools), self._traits(request.model)
        model = request.model.partition("/")[2]
        return self._exchange.stream(
            request.model,
            lambda conceded: self._requests.body(request, model=model, traits=traits, conceded=conceded),
            lambda source: ResponsesStream(source, model=request.model, names=names),
        )

    def limits(self, model: str) -> ModelLimits:
        return self._traits(model).limits

    async def warm(self) -> None:
        await self._exchange.warm()

    async def aclose(self) -> None:
        await self._exchange.aclose()
