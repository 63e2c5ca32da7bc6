"""One provider's HTTP connection: kept alive, limited in time, failures as `RequestFailed`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.models.errors import Source, http_error, own_error, request_id_of

if TYPE_CHECKING:
    from types import ModuleType

    import httpcore
    import httpx

__all__ = ["Body", "Connection", "RequestFailed", "Timeouts"]

_KEPT_ALIVE = 300.0
"""Seconds an unused connection is kept; tools may run that long between two requests."""
_DRAIN = 0.25
"""Seconds for the rest of a body whose answer is whole."""
_ERROR_BODY = 64 * 1024
_ERROR_WAIT = 10.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds."""

    connect: float = 15.0
    idle: float = 120.0
    """The longest silence: before the first byte, and between any two. Comments break it."""


class RequestFailed(Exception):
    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.message)
        self.error = error


class Body:
    """The body of a good answer, as pieces of bytes."""

    def __init__(self, response: httpx.Response) -> None:
        self.request_id = request_id_of(response.headers)
        """By which the provider can find the request, if it said so."""
        self._pieces = response.aiter_bytes()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def drain(self) -> None:
        """Read what little should be left, so that the connection can be used again."""
        import httpx

        with contextlib.suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(_DRAIN):
                async for _ in self._pieces:
                    pass


class Connection:
    """The HTTP library is imported and the client made at the first request, in a thread."""

    def __init__(self, source: Source, url: str, timeouts: Timeouts) -> None:
        self._source = source
        self._url = url
        self._timeouts = timeouts
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> httpx.AsyncClient:
        """Raises `RequestFailed` for proxy and certificate variables that cannot be used."""
        async with self._opening:
            if self._client is None:
                self._client = await self._made()
            return self._client

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @contextlib.asynccontextmanager
    async def post(self, content: bytes, headers: Mapping[str, str]) -> AsyncGenerator[Body]:
        """Raises `RequestFailed`, also out of the reading of the body."""
        client = await self.open()
        import httpx

        source = self._source
        try:
            async with client.stream(
                "POST", self._url, content=content, headers=headers, extensions={"trace": _HandshakeGuard()}
            ) as response:
                if not response.is_success:
                    raise RequestFailed(await self._refusal(response))
                body = Body(response)
                source = replace(source, request_id=body.request_id)
                yield body
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RequestFailed(self._explained(error, source)) from None

    async def _made(self) -> httpx.AsyncClient:
        import httpx

        # What the variables hold is not told: a proxy's address may have a password in it.
        try:
            return await asyncio.to_thread(_client, self._url, self._timeouts)
        except OSError as error:
            text = f"The certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {_said(error)}."
        except ImportError:
            text = "A SOCKS proxy is set, which needs `pip install 'httpx[socks]'`; or set an http proxy."
        except (ValueError, httpx.InvalidURL):
            text = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or NO_PROXY holds what is no address; correct it."
        raise RequestFailed(own_error(self._source, "invalidRequest", text))

    async def _refusal(self, response: httpx.Response) -> ErrorInfo:
        body = await _error_body(response)
        return http_error(self._source, response.status_code, response.headers, body)

    def _explained(self, error: httpx.HTTPError | httpx.InvalidURL, source: Source) -> ErrorInfo:
        import httpx

        name, place = source.name, urlsplit(self._url).netloc
        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                text = f"{name} could not be reached at {place} within {self._timeouts.connect:g} s."
                return own_error(source, "timeout", text)
            case httpx.TimeoutException():
                text = f"{name} was silent for {self._timeouts.idle:g} s."
                return own_error(source, "timeout", text)
            case httpx.ConnectError():
                return self._unreachable(error, place)
            case httpx.NetworkError() | httpx.RemoteProtocolError():
                text = f"The connection to {name} was lost: {_said(error)}."
                return own_error(source, "connectionLost", text)
            case httpx.ProxyError():
                text = f"The proxy in front of {name} failed: {_said(error)}. Check the proxy variables."
                return own_error(source, "connectionLost", text)
            case httpx.DecodingError():
                text = f"{name} sent a body that cannot be decompressed: {_said(error)}."
                return own_error(source, "badResponse", text, retryable=True)
            case _:
                text = f"The request to {name} could not be sent: {_said(error)}."
                return own_error(source, "invalidRequest", text)

    def _unreachable(self, error: httpx.ConnectError, place: str) -> ErrorInfo:
        name = self._source.name
        if _caused_by(error, ssl.SSLCertVerificationError):
            text = f"{name} at {place} has no trusted certificate: {_said(error)}. SSL_CERT_FILE may name it."
            return own_error(self._source, "connectionLost", text, retryable=False)
        text = f"{name} could not be reached at {place}: {_said(error)}. Check the address, and that it runs."
        return own_error(self._source, "connectionLost", text)


class _HandshakeGuard:
    """The HTTP library leaves a connection open whose TLS handshake is cancelled, so it is closed here."""

    def __init__(self) -> None:
        self._stream: httpcore.AsyncNetworkStream | None = None

    async def __call__(self, step: str, details: Mapping[str, Any]) -> None:
        if step.endswith(".connect_tcp.complete"):
            self._stream = details["return_value"]
        elif step.endswith(".start_tls.failed") and self._stream is not None:
            await self._stream.aclose()


def _client(url: str, timeouts: Timeouts) -> httpx.AsyncClient:
    import httpx

    # Both log addresses and headers as they are, and a server may tell a key back in these.
    for library in ("httpcore", "httpx"):
        logging.getLogger(library).setLevel(logging.WARNING)
    _note_if_missing("sniffio")
    address = urlsplit(url)
    # A proxy is never meant for our own machine, and without TLS no certificates need be read.
    local = address.hostname in ("localhost", "127.0.0.1", "::1")
    trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if local and address.scheme == "http" else True
    return httpx.AsyncClient(
        verify=trusted,
        trust_env=not local,
        timeout=httpx.Timeout(timeouts.idle, connect=timeouts.connect, pool=timeouts.connect),
        limits=httpx.Limits(max_keepalive_connections=16, keepalive_expiry=_KEPT_ALIVE),
    )


def _note_if_missing(module: str) -> None:
    """httpcore looks for it several times a request, and to look for what is not there takes long."""
    if module not in sys.modules and find_spec(module) is None:
        sys.modules[module] = cast("ModuleType", None)


async def _error_body(response: httpx.Response) -> bytes:
    """As much as comes in time; the status alone says enough."""
    import httpx

    body = bytearray()
    with contextlib.suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_ERROR_WAIT):
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) >= _ERROR_BODY:
                    break
    # One piece may be anything that a compressed one has become.
    return bytes(body[:_ERROR_BODY])


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


def _said(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__
