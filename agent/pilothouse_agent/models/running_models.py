"""Which models a server on this machine has: asked only when somebody wants to choose."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.models.provider_config import ProviderConfig
from pilothouse_agent.models.wire_json import decode

__all__ = ["NotRunning", "running_models"]

_LIMIT = 2.0
"""Seconds; the server is near."""


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
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, Request, build_opener

    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        with build_opener(ProxyHandler({})).open(Request(url, headers=headers), timeout=_LIMIT) as answer:
            return answer.read(1 << 20)
    except HTTPError as refusal:
        refusal.close()
        return b""
    except ValueError:
        return b""


def _names(body: bytes) -> tuple[str, ...]:
    try:
        value = decode(body)
    except ValueError:
        return ()
    listed: JsonValue = value.get("data") if isinstance(value, dict) else None
    names = (item.get("id") for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()
    return tuple(name for name in names if isinstance(name, str) and name)
