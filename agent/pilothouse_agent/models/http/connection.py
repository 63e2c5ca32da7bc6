"""One provider's HTTP connection: kept alive, limited in time, failures as `RequestFailed`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.models.http.certificates import CertificatesUnusable, trusted
from pilothouse_agent.models.http.errors import Source, http_error, own_error, request_id_of
from pilothouse_agent.models.http.loopback import is_loopback
from pilothouse_agent.models.http.proxies import ProxyRoute, ProxyUnusable, no_address, route_to
from pilothouse_agent.models.http.timeouts import Timeouts

if TYPE_CHECKING:
    from types import ModuleType

    import httpcore
    import httpx

__all__ = ["Body", "Connection", "RequestFailed"]

_KEPT_ALIVE = 300.0
"""Seconds an unused connection is kept; tools may run that long between two requests."""
_DRAIN = 0.25
"""Seconds for the rest of a body whose answer is whole."""
_ERROR_BODY = 64 * 1024
_ERROR_WAIT = 10.0


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


@dataclass(frozen=True, slots=True)
class _Made:
    client: httpx.AsyncClient
    proxy: ProxyRoute | None


class Connection:
    """The HTTP library is imported and the client made at the first request, in a thread.

    Proxies and certificates are those that the process's environment names then.
    """

    def __init__(self, source: Source, url: str, timeouts: Timeouts) -> None:
        self.problems: list[str] = []
        """What of the environment is left out; who tells it takes it away."""
        self._source = source
        self._url = url
        self._timeouts = timeouts
        self._made: _Made | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> httpx.AsyncClient:
        """Raises `RequestFailed` for proxy and certificate variables that cannot be used."""
        async with self._opening:
            if self._made is None:
                self._made = await self._make()
            return self._made.client

    async def aclose(self) -> None:
        made, self._made = self._made, None
        if made is not None:
            await made.client.aclose()

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

    async def _make(self) -> _Made:
        try:
            made, problems = await asyncio.to_thread(_client, self._url, self._timeouts)
        except (ProxyUnusable, CertificatesUnusable) as error:
            raise RequestFailed(own_error(self._source, "invalidRequest", str(error))) from None
        self.problems += problems
        return made

    async def _refusal(self, response: httpx.Response) -> ErrorInfo:
        body = await _error_body(response)
        return http_error(self._source, response.status_code, response.headers, body)

    def _explained(self, error: httpx.HTTPError | httpx.InvalidURL, source: Source) -> ErrorInfo:
        import httpx

        name = source.name
        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                text = f"{name} could not be reached {self._way} within {self._timeouts.connect:g} s."
                return own_error(source, "timeout", text)
            case httpx.TimeoutException():
                text = f"{name} was silent for {self._timeouts.idle:g} s."
                return own_error(source, "timeout", text)
            case httpx.ConnectError():
                return self._unreachable(error)
            case httpx.NetworkError() | httpx.RemoteProtocolError():
                text = f"The connection to {name} was lost: {_said(error)}."
                return own_error(source, "connectionLost", text)
            case httpx.ProxyError():
                text = f"{name} could not be reached {self._way}: {_said(error)}. Check the proxy."
                return own_error(source, "connectionLost", text)
            case httpx.DecodingError():
                text = f"{name} sent a body that cannot be decompressed: {_said(error)}."
                return own_error(source, "badResponse", text, retryable=True)
            case _:
                text = f"The request to {name} could not be sent: {_said(error)}."
                return own_error(source, "invalidRequest", text)

    @property
    def _way(self) -> str:
        proxy = self._made.proxy if self._made is not None else None
        place = f"at {self._place}"
        return f"{place} through the proxy {proxy.url} ({proxy.variable})" if proxy else place

    def _unreachable(self, error: httpx.ConnectError) -> ErrorInfo:
        name, proxy = self._source.name, self._made.proxy if self._made is not None else None
        if _caused_by(error, ssl.SSLCertVerificationError):
            text = f"{name} at {self._place} has no trusted certificate: {_said(error)}."
            text += " SSL_CERT_FILE may name it."
            return own_error(self._source, "connectionLost", text, retryable=False)
        # Nothing listens there, and no waiting changes that: somebody has to start it.
        refused = _caused_by(error, ConnectionRefusedError) and (proxy.is_here if proxy else self._is_here)
        said = "the connection was refused" if refused else _said(error)
        if proxy is not None:
            advice = f"Check that the proxy runs, or unset {proxy.variable}."
        elif refused:
            started = f" with `{self._source.start}`" if self._source.start else ""
            advice = f"Start it{started}, or correct {self._source.address_name or 'its address'}."
        else:
            advice = "Check the address, and that it runs."
        text = f"{name} could not be reached {self._way}: {said}. {advice}"
        return own_error(self._source, "connectionLost", text, retryable=not refused)

    @property
    def _place(self) -> str:
        return urlsplit(self._url).netloc

    @property
    def _is_here(self) -> bool:
        return is_loopback(urlsplit(self._url).hostname)


class _HandshakeGuard:
    """The HTTP library leaves a connection open whose TLS handshake is cancelled, so it is closed here."""

    def __init__(self) -> None:
        self._stream: httpcore.AsyncNetworkStream | None = None

    async def __call__(self, step: str, details: Mapping[str, Any]) -> None:
        if step.endswith(".connect_tcp.complete"):
            self._stream = details["return_value"]
        elif step.endswith(".start_tls.failed") and self._stream is not None:
            await self._stream.aclose()


def _client(url: str, timeouts: Timeouts) -> tuple[_Made, list[str]]:
    """Raises `ProxyUnusable` and `CertificatesUnusable`."""
    import httpx

    # Both log addresses and headers as they are, and a server may tell a key back in these.
    for library in ("httpcore", "httpx"):
        logging.getLogger(library).setLevel(logging.WARNING)
    _note_if_missing("sniffio")
    problems: list[str] = []
    proxy: ProxyRoute | None = None
    # A proxy is never meant for our own machine.
    if not is_loopback(urlsplit(url).hostname):
        proxy, problems = route_to(url, os.environ)
    # Without TLS no certificates need be read, which takes a while.
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if urlsplit(url).scheme == "https" or (proxy is not None and proxy.kind == "https"):
        verify, left_out = trusted(os.environ)
        problems += left_out
    limits = httpx.Limits(max_keepalive_connections=16, keepalive_expiry=_KEPT_ALIVE)
    client = httpx.AsyncClient(
        transport=_transport(proxy, verify, limits),
        trust_env=False,
        timeout=httpx.Timeout(timeouts.idle, connect=timeouts.connect, pool=timeouts.connect),
    )
    return _Made(client, proxy), problems


def _transport(
    proxy: ProxyRoute | None, verify: ssl.SSLContext, limits: httpx.Limits
) -> httpx.AsyncHTTPTransport:
    """Raises `ProxyUnusable`."""
    import httpx

    if proxy is None:
        return httpx.AsyncHTTPTransport(verify=verify, limits=limits)
    user = (proxy.user, proxy.password) if proxy.user or proxy.password else None
    try:
        way = httpx.Proxy(proxy.url, auth=user, ssl_context=verify if proxy.kind == "https" else None)
        return httpx.AsyncHTTPTransport(verify=verify, limits=limits, proxy=way)
    except ImportError:
        text = (
            f"{proxy.variable} names the SOCKS proxy {proxy.place}, which needs `pip install 'httpx[socks]'`"
        )
        raise ProxyUnusable(f"{text}; or set an http proxy.") from None
    except (ValueError, httpx.InvalidURL):
        raise ProxyUnusable(no_address(proxy.variable)) from None


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
        # One of each address that was tried.
        if isinstance(error, BaseExceptionGroup):
            tried = cast("BaseExceptionGroup[BaseException]", error).exceptions
            return any(_caused_by(each, kind) for each in tried)
        error = error.__cause__ or error.__context__
    return False


def _said(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__
