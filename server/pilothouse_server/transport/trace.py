"""What a client that traces is told of the messages it sends and of their answers, by `$/logTrace`."""

from __future__ import annotations

import time
from collections.abc import Callable

from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.codec import encode
from pilothouse_server.wire.json_object import Json

__all__ = ["Trace"]


_OFF, _MESSAGES, _VERBOSE = "off", "messages", "verbose"
_MOST = 10_000
"""Bytes of a message that are shown of it; what is longer is cut."""


class Trace:
    """Events are not traced: the client has them already."""

    def __init__(self, notify: Callable[[str, Json], None]) -> None:
        self._notify = notify
        self._level = _OFF
        self._open: dict[int | str, tuple[str, float]] = {}

    def set(self, level: object) -> None:
        """As `initialize` or `$/setTrace` say it; what is no level changes nothing."""
        if level in (_OFF, _MESSAGES, _VERBOSE):
            self._level = str(level)
        if self._level == _OFF:
            self._open.clear()

    def told(self, method: str, params: object) -> None:
        if self._level != _OFF:
            self._say(f"Received notification '{method}'.", "Params", params)

    def asked(self, method: str, msg_id: int | str, params: object) -> None:
        if self._level != _OFF:
            self._open[msg_id] = method, time.monotonic()
            self._say(f"Received request '{method} - ({msg_id})'.", "Params", params)

    def answered(self, msg_id: int | str | None, part: str, value: object) -> None:
        """`part` is Result or Error."""
        known = self._open.pop(msg_id, None) if self._level != _OFF and msg_id is not None else None
        if known is not None:
            method, begun = known
            spent = round((time.monotonic() - begun) * 1000)
            said = f"Sending response '{method} - ({msg_id})'. Processing request took {spent}ms."
            self._say(said, part, value)

    def _say(self, message: str, part: str, value: object) -> None:
        params: Json = {"message": message}
        if self._level == _VERBOSE:
            params["verbose"] = f"{part}: {_shown(value)}"
        self._notify(names.LOG_TRACE, params)


def _shown(value: object) -> str:
    try:
        text = encode(value)
    except (TypeError, ValueError):
        return "cannot be shown"
    return text[:_MOST].decode("utf-8", "ignore") + (" …" if len(text) > _MOST else "")
