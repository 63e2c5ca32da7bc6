"""Requests to the client: each ends, whatever the client does."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any, cast

from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import INTERNAL_ERROR, ClientGone, RequestFault
from pilothouse_server.wire.json_object import Json

__all__ = ["Asking"]

logger = logging.getLogger(__name__)


_GONE = "The connection to the client has ended."


class Asking:
    """The requests that wait for the client. `send` raises for what cannot be put into JSON."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        self._send = send
        self._open: dict[str, asyncio.Future[Any]] = {}
        self._last_id = 0
        self.answers = 0
        """How many have come."""
        self.answered_by_person_at = -math.inf
        """By the clock of `time.monotonic`."""
        self._closed = False

    def request(self, method: str, params: Any, *, limit: float | None) -> Coroutine[Any, Any, Any]:
        """See `Rpc.request`."""
        self._last_id += 1
        msg_id = f"s{self._last_id}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._closed:
            future.set_exception(ClientGone(_GONE))
        else:
            self._send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
            self._open[msg_id] = future
        return self._answer(msg_id, future, limit)

    async def _answer(self, msg_id: str, future: asyncio.Future[Any], limit: float | None) -> Any:
        try:
            async with asyncio.timeout(limit):
                answer = await future
            if limit is None:
                self.answered_by_person_at = time.monotonic()
            return answer
        finally:
            if self._open.pop(msg_id, None) is not None:
                self._send({"jsonrpc": "2.0", "method": names.CANCEL, "params": {"id": msg_id}})

    def has_asked(self, msg_id: object) -> bool:
        """Whether it is the id of a question of ours, open or not any more."""
        number = msg_id[1:] if isinstance(msg_id, str) and msg_id.startswith("s") else ""
        return number.isdecimal() and number.isascii() and 0 < int(number) <= self._last_id

    def take(self, message: Json) -> None:
        """The client's answer; late, unknown and malformed ones harm nobody."""
        self.answers += 1
        msg_id, error = message.get("id"), message.get("error")
        future = self._open.pop(msg_id, None) if isinstance(msg_id, str) else None
        if future is None or future.done():
            logger.info("Ignored an answer to a request that is not open (any more)")
        elif error is None:
            future.set_result(message.get("result"))
        else:
            future.set_exception(_fault(error))

    def close(self) -> None:
        """The client is gone: whoever waits for it is told, and whoever comes later."""
        self._closed = True
        waiting, self._open = self._open, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(ClientGone(_GONE))


def _fault(error: object) -> RequestFault:
    fields = cast("Json", error) if isinstance(error, dict) else {}
    code, text = fields.get("code"), fields.get("message")
    return RequestFault(code if isinstance(code, int) else INTERNAL_ERROR, str(text or "The client failed."))
