"""Keys out of the system's keyring, through the package `keyring` where it is installed."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import logging
import threading
from functools import cache
from typing import Protocol, cast

__all__ = ["keyring_is_there", "keyring_key"]

logger = logging.getLogger(__name__)

_SERVICE = "pilothouse"
_LIMIT = 10.0
"""Seconds; a locked keyring asks its user first."""


class _Keyring(Protocol):
    def get_password(self, service: str, name: str, /) -> str | None: ...


@cache
def keyring_is_there() -> bool:
    """Whether the package is installed; that says nothing of a keyring behind it."""
    return importlib.util.find_spec("keyring") is not None


async def keyring_key(name: str) -> str | None:
    """The provider's key, None where there is none or no keyring answers in time."""
    if not await asyncio.to_thread(keyring_is_there):
        return None
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()

    def ask() -> None:
        key = _key(name)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(key))

    # A daemon, because a keyring that waits for its user must not hold up the end of the process.
    threading.Thread(target=ask, name="keyring", daemon=True).start()
    try:
        async with asyncio.timeout(_LIMIT):
            return await answer
    except TimeoutError:
        logger.warning("The keyring did not answer within %g s", _LIMIT)
        return None


def _key(name: str) -> str | None:
    try:
        keyring = cast("_Keyring", importlib.import_module("keyring"))
        return keyring.get_password(_SERVICE, name)
    except Exception as error:
        logger.info("The keyring cannot be used: %s", type(error).__name__)
        return None
