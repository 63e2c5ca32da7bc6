"""Our own log for a client that wants it, as `window/logMessage`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from pilothouse_server.transport.logs import InertFormatter
from pilothouse_server.wire import method_names as names

__all__ = ["ClientLog"]

_LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
}
_TYPES = ((logging.ERROR, 1), (logging.WARNING, 2), (logging.INFO, 3))
"""The least level of each type of message in LSP."""
_OURS = "pilothouse_"


class ClientLog(logging.Handler):
    """Takes records from any thread. What is logged while one is sent is left out, or it would never end."""

    def __init__(self, level: str, notify: Callable[[str, dict[str, Any]], None]) -> None:
        super().__init__(_LEVELS[level])
        self._notify = notify
        self._loop = asyncio.get_running_loop()
        self._sending = False
        self.setFormatter(InertFormatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if self._sending or not record.name.startswith(_OURS):
            return
        kind = next(kind for least, kind in _TYPES if record.levelno >= least)
        params = {"type": kind, "message": self.format(record)}
        try:
            self._loop.call_soon_threadsafe(self._send, params)
        except RuntimeError:
            return  # The loop has ended, and the client with it.

    def _send(self, params: dict[str, Any]) -> None:
        self._sending = True
        try:
            self._notify(names.LOG_MESSAGE, params)
        finally:
            self._sending = False
