"""Which models a server on this machine has: asked only when somebody wants to choose."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.models.provider_config import ProviderConfig
from pilothouse_agent.models.wire_json import decode

if TYPE_CHECKING:
    from http.client import HTTPResponse

__all__ = ["NotRunning", "running_models"]

_LIMIT = 2.0
"""Seconds; the server is near."""
_LARGEST = 1 << 20


class NotRunning(Exception):
    """That nobody answers, as a sentence."""


async def running_models(config: ProviderConfig, key: str) -> tuple[str, ...]:
    """The names it tells; none when it tells nothing of the kind. Raises `NotRunning`."""
    try:
        async with asyncio.timeout(_LIMIT):
            return _names(await asyncio.to_thread(_ask, f"{config.address.rstrip('/')}/models", key))
    except (OSError, TimeoutError):
        place = urlsplit(config.address).netloc
        raise NotRunning(f"{config.name} does not answer at {place}; start it.") from None


def _ask(url: str, key: str) -> bytes:
    """Empty when it answers with anything but good news. Raises `OSError`."""
    from http.client import HTTPException
    from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

    class AsItIs(HTTPErrorProcessor):
        """Follows no redirection: the key would go along to wherever it points."""

        def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
            return response

        https_response = http_response

    headers = {"authorization": f"Bearer {key}"} if key else {}
    opener = build_opener(ProxyHandler({}), AsItIs())
    try:
        with opener.open(Request(url, headers=headers), timeout=_LIMIT) as answer:
            return _beginning(answer) if answer.status == 200 else b""
    except (ValueError, HTTPException):
        return b""


def _beginning(answer: HTTPResponse) -> bytes:
    """What comes in time: a thread that waits for more could not be stopped."""
    body, end = b"", monotonic() + _LIMIT
    while len(body) < _LARGEST and monotonic() < end and (piece := answer.read1(_LARGEST)):
        body += piece
    return body


def _names(body: bytes) -> tuple[str, ...]:
    try:
        value = decode(body)
    except ValueError:
        return ()
    listed: JsonValue = value.get("data") if isinstance(value, dict) else None
    names = (item.get("id") for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()
    return tuple(name for name in names if isinstance(name, str) and name and name.isprintable())
