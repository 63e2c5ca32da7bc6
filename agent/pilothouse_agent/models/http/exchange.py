"""One request and its answer: posted, read, and whatever goes wrong told as the final event."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import Failed, ModelRequest, StreamEvent
from pilothouse_agent.models.http.answer_reader import AnswerReader
from pilothouse_agent.models.http.concessions import Concession, Concessions
from pilothouse_agent.models.http.connection import Body, Connection, RequestFailed
from pilothouse_agent.models.http.errors import Source, own_error
from pilothouse_agent.models.http.output_room import room_left
from pilothouse_agent.models.http.server_settings import ServerSettings
from pilothouse_agent.models.http.timeouts import Timeouts

__all__ = ["Exchange"]

logger = logging.getLogger(__name__)

Write = Callable[[Mapping[str, str]], bytes]
"""Writes the body of a request, without what has been conceded to the server."""
Read = Callable[[Source], AnswerReader]
Locate = Callable[[ErrorInfo, Mapping[str, str]], ErrorInfo]
"""Says which block of the request a refusal is about, if it is about one; given what has been conceded."""

_TOO_LONG = ("contextOverflow", "invalidRequest")
_LEAST_ROOM = 1_024
"""Tokens; an answer with less is not worth it, and the conversation has to be shortened."""
_COMMON = {"content-type": "application/json", "accept-encoding": "identity"}


class Exchange:
    """Keeps one HTTP client, made at the first request, until `aclose`."""

    def __init__(
        self,
        settings: ServerSettings,
        *,
        headers: Mapping[str, str],
        timeouts: Timeouts | None,
        concessions: Mapping[str, Concession],
    ) -> None:
        self._source = settings.source
        self._problem = settings.problem()
        self._headers = {**_COMMON, **headers, **settings.headers}
        self._timeouts = timeouts or Timeouts()
        self._concessions = Concessions(concessions)
        if self._problem is None:
            self._connection = Connection(self._source, settings.url, self._timeouts)

    async def stream(
        self, request: ModelRequest, write: Write, read: Read, locate: Locate
    ) -> AsyncGenerator[StreamEvent]:
        """Ends with exactly one terminal event; raises nothing but the cancellation of its reader."""
        if self._problem is not None:
            yield Failed(self._problem)
            return
        answer: AnswerReader | None = None
        told: list[str] = []
        try:
            async with contextlib.AsyncExitStack() as stack:
                body = await self._post(request, write, stack, told)
                for notice in self._notices(told):
                    yield notice
                answer = read(replace(self._source, request_id=body.request_id))
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
                event = replace(event, error=locate(event.error, self._concessions.to(request)))
            yield event

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

    async def _post(
        self, request: ModelRequest, write: Write, stack: contextlib.AsyncExitStack, told: list[str]
    ) -> Body:
        """A refusal of something that can be left out is heeded, and the request sent again without it.

        What the user should know of it is added to `told`.
        """
        room: dict[str, str] = {}
        while True:
            content = write({**self._concessions.to(request), **room})
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
