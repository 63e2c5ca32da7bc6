"""Questions to a server on the user's own machine that have nothing to do with answers of its models."""

from __future__ import annotations

import asyncio
import os
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.http.certificates import CertificatesUnusable, trusted
from pilothouse_agent.models.wire_json import decode, encode

if TYPE_CHECKING:
    from http.client import HTTPResponse

__all__ = ["NobodyAnswers", "asked"]

_LIMIT = 2.0
"""Seconds; the server is near."""
_LARGEST = 1 << 20


class NobodyAnswers(Exception):
    """That nobody answers, as a sentence."""


async def asked(config: ProviderConfig, url: str, key: str, *, body: JsonObject | None = None) -> JsonValue:
    """What the server says; None when it says nothing of the kind. Raises `NobodyAnswers`.

    With a body it is told that, else only asked.
    """
    try:
        async with asyncio.timeout(_LIMIT):
            answer = await asyncio.to_thread(_ask, url, key, encode(body) if body is not None else None)
    except (OSError, TimeoutError):
        place = urlsplit(config.address).netloc
        how = f"start it with `{config.start}`" if config.start else "start it"
        raise NobodyAnswers(f"{config.name} does not answer at {place}; {how}.") from None
    try:
        return decode(answer)
    except ValueError:
        return None


def _ask(url: str, key: str, body: bytes | None) -> bytes:
    """Empty when it answers with anything but good news. Raises `OSError`."""
    from http.client import HTTPException
    from urllib.request import HTTPErrorProcessor, HTTPSHandler, ProxyHandler, Request, build_opener

    class AsItIs(HTTPErrorProcessor):
        """Follows no redirection: the key would go along to wherever it points."""

        def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
            return response

        https_response = http_response

    headers = {"authorization": f"Bearer {key}"} if key else {}
    if body is not None:
        headers["content-type"] = "application/json"
    try:
        secure = [HTTPSHandler(context=trusted(os.environ)[0])] if url.startswith("https:") else []
        opener = build_opener(ProxyHandler({}), AsItIs(), *secure)
        with opener.open(Request(url, data=body, headers=headers), timeout=_LIMIT) as answer:
            return _beginning(answer) if answer.status == 200 else b""
    except (ValueError, HTTPException, CertificatesUnusable):
        return b""


def _beginning(answer: HTTPResponse) -> bytes:
    """What comes in time: a thread that waits for more could not be stopped."""
    body, end = b"", monotonic() + _LIMIT
    while len(body) < _LARGEST and monotonic() < end and (piece := answer.read1(_LARGEST)):
        body += piece
    return body
