"""A provider of any wire format: requests posted, answers read, what goes wrong told as the final event."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import traceback
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import Failed, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.models.history.image_refusals import wire_place
from pilothouse_agent.models.http.access import Access
from pilothouse_agent.models.http.answer_reader import AnswerReader
from pilothouse_agent.models.http.concessions import Concessions
from pilothouse_agent.models.http.connection import Body, Connection, RequestFailed
from pilothouse_agent.models.http.errors import own_error
from pilothouse_agent.models.http.output_room import room_left
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.http.wire_format import WireFormat
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model

__all__ = ["WireProvider"]

logger = logging.getLogger(__name__)

_TOO_LONG = ("contextOverflow", "invalidRequest")
_LEAST_ROOM = 1_024
"""Tokens; an answer with less is not worth it, and the conversation has to be shortened."""
_COMMON = {"content-type": "application/json", "accept-encoding": "identity"}


class WireProvider:
    """Keeps one HTTP client, made at the first request, until `aclose`."""

    def __init__(
        self,
        wire: WireFormat,
        access: Access,
        *,
        timeouts: Timeouts | None = None,
        traits: TraitsOf = unknown_model,
    ) -> None:
        self._wire = wire
        self._traits = traits
        self._source = access.source(wire)
        self._problem = access.problem(wire)
        self._headers = {**_COMMON, **wire.headers(access.key), **access.headers}
        self._timeouts = timeouts or Timeouts()
        self._concessions = Concessions(wire.concessions)
        if self._problem is None:
            self._connection = Connection(self._source, access.url(wire), self._timeouts)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """Ends with exactly one terminal event; raises nothing but the cancellation of its reader."""
        if self._problem is not None:
            yield Failed(self._problem)
            return
        answer: AnswerReader | None = None
        told: list[str] = []
        try:
            async with contextlib.AsyncExitStack() as stack:
                body = await self._post(request, stack, told)
                for notice in self._notices(told):
                    yield notice
                answer = self._reader(request, body)
                async with contextlib.aclosing(_pieces(body, answer, self._timeouts.rest)) as pieces:
                    async for piece in pieces:
                        for event in answer.feed(piece):
                            yield event
                if answer.done:
                    await body.drain()
            ending = answer.end()
        except RequestFailed as failure:
            ending: list[StreamEvent] = answer.end(failure.error) if answer else [Failed(failure.error)]
        except Exception as error:
            text = self._source.redacted("".join(traceback.format_exception(error)))
            logger.error("%s failed on something unforeseen\n%s", self._source.name, text)
            text = f"{self._source.name} failed on something unforeseen: {type(error).__name__}."
            ending = [Failed(own_error(self._source, "unknown", text))]
        for notice in self._notices(told):
            yield notice
        for event in ending:
            if isinstance(event, Failed):
                event = replace(event, error=self._located(event.error, request))
            yield event

    def limits(self, model: str) -> ModelLimits:
        return self._traits(model).limits

    async def warm(self) -> None:
        if self._problem is None:
            await self._connection.open()

    async def aclose(self) -> None:
        if self._problem is None:
            await self._connection.aclose()

    def _notices(self, told: list[str]) -> list[Notice]:
        """What the user has not been told yet."""
        notices = [Notice("warning", text, "network") for text in self._connection.problems]
        notices += [Notice("warning", text, "conceded") for text in told]
        self._connection.problems.clear()
        told.clear()
        return notices

    async def _post(self, request: ModelRequest, stack: contextlib.AsyncExitStack, told: list[str]) -> Body:
        """A refusal of something that can be left out is heeded, and the request sent again without it.

        What the user should know of it is added to `told`.
        """
        room: dict[str, str] = {}
        while True:
            content = self._body(request, {**self._concessions.to(request), **room})
            try:
                return await stack.enter_async_context(self._connection.post(content, self._headers))
            except RequestFailed as failure:
                error = failure.error
                left = room_left(error.message) if error.kind in _TOO_LONG and not room else None
                if left is not None and left >= _LEAST_ROOM:
                    room["room"] = str(left)
                elif (learnt := self._concessions.learn(request, error)) is None:
                    raise
                elif learnt.told:
                    told.append(f"{self._source.name} {learnt.told}")

    def _body(self, request: ModelRequest, conceded: Mapping[str, str]) -> bytes:
        name, traits = request.model.partition("/")[2], self._traits(request.model)
        return self._wire.writer.body(request, model=name, traits=traits, conceded=conceded)

    def _reader(self, request: ModelRequest, body: Body) -> AnswerReader:
        source = replace(self._source, request_id=body.request_id)
        return self._wire.reader(source, model=request.model, names=self._wire.writer.names(request.tools))

    def _located(self, error: ErrorInfo, request: ModelRequest) -> ErrorInfo:
        """With the block of the request that a refusal is about, if it is about one."""
        place = wire_place(error.message) if error.refused is not None else None
        if place is None:
            return error
        traits, conceded = self._traits(request.model), self._concessions.to(request)
        refused = self._wire.writer.refused(request, place, traits=traits, conceded=conceded)
        return replace(error, refused=refused)


async def _pieces(body: Body, answer: AnswerReader, rest: float) -> AsyncGenerator[bytes]:
    """Until the answer is whole; once it may be, `rest` seconds are left for what is behind."""
    pieces, end = aiter(body), math.inf
    while not answer.done:
        if answer.closing and end == math.inf:
            end = asyncio.get_running_loop().time() + rest
        try:
            async with asyncio.timeout_at(end if end < math.inf else None):
                piece = await anext(pieces)
        except (StopAsyncIteration, TimeoutError):
            return
        yield piece
