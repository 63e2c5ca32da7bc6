"""The provider `openai-chat`: Chat Completions of OpenAI and of the many servers compatible with it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import Failed, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.models.chat_request import ChatRequests
from pilothouse_agent.models.chat_stream import ORIGIN, ChatStream
from pilothouse_agent.models.connection import Body, Connection, RequestFailed, Timeouts
from pilothouse_agent.models.errors import Source, own_error

__all__ = ["ChatSettings", "OpenAIChat"]

logger = logging.getLogger(__name__)

_OPENAI = "api.openai.com"
_DEFAULT_ADDRESS = f"https://{_OPENAI}/v1"
_PATH = "/chat/completions"


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Where a server is and how to get in."""

    name: str = ORIGIN
    """The provider's part of a model id."""
    address: str = _DEFAULT_ADDRESS
    """Up to and without `/chat/completions`."""
    key: str = ""
    key_name: str = "OPENAI_API_KEY"
    """The variables, for messages."""
    address_name: str = "OPENAI_BASE_URL"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ChatSettings:
        return cls(
            address=environment.get("OPENAI_BASE_URL", "").strip() or _DEFAULT_ADDRESS,
            key=environment.get("OPENAI_API_KEY", "").strip(),
        )

    @property
    def url(self) -> str:
        parts = urlsplit(self.address)
        path = parts.path.rstrip("/").removesuffix(_PATH) + _PATH
        return urlunsplit(parts._replace(path=path, fragment=""))

    @property
    def source(self) -> Source:
        return Source(self.name, self.key_name, (self.key,) if self.key else ())

    def problem(self) -> ErrorInfo | None:
        """Why no request can be sent with these settings."""
        if not _is_web_address(self.address):
            text = f"{self.address_name} must be an http or https address without user name and password."
            return own_error(self.source, "invalidRequest", text)
        if not self.key and urlsplit(self.address).hostname == _OPENAI:
            text = f"{self.name} needs a key: set {self.key_name}, or another server in {self.address_name}."
            return own_error(self.source, "auth", text)
        if not (self.key.isascii() and self.key.isprintable()):
            text = f"The key in {self.key_name} holds characters that no key has; copy it again."
            return own_error(self.source, "auth", text)
        return None


class OpenAIChat:
    """Keeps one HTTP client, made at the first request, until `aclose`."""

    def __init__(self, settings: ChatSettings, *, timeouts: Timeouts | None = None) -> None:
        self._source = settings.source
        self._problem = settings.problem()
        self._requests = ChatRequests()
        self._with_usage = True
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if self._problem is None:
            self._connection = Connection(self._source, settings.url, timeouts or Timeouts())
            if settings.key:
                self._headers["authorization"] = f"Bearer {settings.key}"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        if self._problem is not None:
            yield Failed(self._problem)
            return
        answer = ChatStream(
            self._source, model=_name(request.model), names=self._requests.names(request.tools)
        )
        try:
            async with contextlib.AsyncExitStack() as stack:
                body = await self._post(request, stack)
                async for piece in body:
                    for event in answer.feed(piece):
                        yield event
                    if answer.done:
                        await body.drain()
                        break
            ending = answer.end()
        except RequestFailed as failure:
            ending = answer.end(failure.error)
        except Exception as error:
            logger.exception("%s failed", self._source.name)
            text = f"{self._source.name} failed on something unforeseen: {type(error).__name__}."
            ending: list[StreamEvent] = [Failed(own_error(self._source, "unknown", text))]
        for event in ending:
            yield event

    def limits(self, model: str) -> ModelLimits:
        return ModelLimits()

    async def warm(self) -> None:
        if self._problem is None:
            await self._connection.open()

    async def aclose(self) -> None:
        if self._problem is None:
            await self._connection.aclose()

    async def _post(self, request: ModelRequest, stack: contextlib.AsyncExitStack) -> Body:
        """Some servers refuse to be asked for the usage; that is learnt once."""
        try:
            return await stack.enter_async_context(self._posted(request))
        except RequestFailed as failure:
            if not self._with_usage or "stream_options" not in failure.error.message:
                raise
        self._with_usage = False
        return await stack.enter_async_context(self._posted(request))

    def _posted(self, request: ModelRequest) -> AbstractAsyncContextManager[Body]:
        body = self._requests.body(request, model=_name(request.model), with_usage=self._with_usage)
        return self._connection.post(body, self._headers)


def _name(model: str) -> str:
    return model.partition("/")[2]


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
