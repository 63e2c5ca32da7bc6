"""What a provider is made of, whatever its wire format: a writer, a reader, and an exchange between them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Protocol

from pilothouse_agent.kernel.messages import ErrorInfo, RefusedBlock
from pilothouse_agent.kernel.request import ModelLimits, ModelRequest, StreamEvent, ToolSpec
from pilothouse_agent.models.history.image_refusals import WirePlace, wire_place
from pilothouse_agent.models.http.answer_reader import AnswerReader
from pilothouse_agent.models.http.concessions import Concession
from pilothouse_agent.models.http.errors import Source
from pilothouse_agent.models.http.exchange import Exchange
from pilothouse_agent.models.http.server_settings import ServerSettings
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.model_traits import ModelTraits, TraitsOf

__all__ = ["ReaderMaker", "RequestWriter", "WireProvider"]


class RequestWriter(Protocol):
    def names(self, tools: tuple[ToolSpec, ...]) -> Mapping[str, str]:
        """From the names on the wire to the tools' own, where these are not legal there."""
        ...

    def body(
        self, request: ModelRequest, *, model: str, traits: ModelTraits, conceded: Mapping[str, str]
    ) -> bytes:
        """`model` is the name on the wire; `conceded` tells what the server has refused to take."""
        ...

    def refused(
        self,
        request: ModelRequest,
        place: WirePlace,
        *,
        traits: ModelTraits | None,
        conceded: Mapping[str, str] | None,
    ) -> RefusedBlock:
        """The image at a place in the body of a request."""
        ...


class ReaderMaker(Protocol):
    def __call__(self, source: Source, *, model: str, names: Mapping[str, str]) -> AnswerReader:
        """`model`: the whole id. `names`: from tool names on the wire to ours, where they differ."""
        ...


class WireProvider:
    """Keeps one HTTP client, made at the first request, until `aclose`."""

    def __init__(
        self,
        settings: ServerSettings,
        writer: RequestWriter,
        reader: ReaderMaker,
        *,
        headers: Mapping[str, str],
        concessions: Mapping[str, Concession],
        timeouts: Timeouts | None,
        traits: TraitsOf,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._traits = traits
        self._exchange = Exchange(settings, headers=headers, timeouts=timeouts, concessions=concessions)

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        def write(conceded: Mapping[str, str]) -> bytes:
            name, traits = request.model.partition("/")[2], self._traits(request.model)
            return self._writer.body(request, model=name, traits=traits, conceded=conceded)

        def read(source: Source) -> AnswerReader:
            return self._reader(source, model=request.model, names=self._writer.names(request.tools))

        def located(error: ErrorInfo, conceded: Mapping[str, str]) -> ErrorInfo:
            place = wire_place(error.message) if error.refused is not None else None
            if place is None:
                return error
            traits = self._traits(request.model)
            refused = self._writer.refused(request, place, traits=traits, conceded=conceded)
            return replace(error, refused=refused)

        return self._exchange.stream(request, write, read, located)

    def limits(self, model: str) -> ModelLimits:
        return self._traits(model).limits

    async def warm(self) -> None:
        await self._exchange.warm()

    async def aclose(self) -> None:
        await self._exchange.aclose()
