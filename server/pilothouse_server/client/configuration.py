"""The editor's settings for us: asked for where the client lets us, else as it pushes them."""

from __future__ import annotations

import logging
from typing import Any, cast

from pilothouse_server.client.handshake import Client
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import ClientGone, RequestFault
from pilothouse_server.wire.json_object import Json, json_object

__all__ = ["Configuration"]

logger = logging.getLogger(__name__)


_SECTION = "pilothouse"
_LIMIT = 5.0
"""Seconds the client has to answer workspace/configuration."""


class Configuration:
    """`values` are the newest that are known; a client that does not answer leaves them as they are."""

    def __init__(self, rpc: Rpc, client: Client) -> None:
        self.values: Json = {}
        self._rpc = rpc
        self._asks = client.can("workspace", "configuration")
        self._registers = client.can_register("workspace", "didChangeConfiguration")
        self._asked = 0

    async def register(self) -> None:
        """Ask the client to tell of changes, which some do only then; only after `initialized`."""
        if not self._registers:
            return
        registration = {
            "id": "pilothouse-settings",
            "method": names.CONFIGURATION_CHANGED,
            "registerOptions": {"section": _SECTION},
        }
        try:
            await self._rpc.request(names.REGISTER, {"registrations": [registration]}, limit=_LIMIT)
        except (RequestFault, TimeoutError, ClientGone) as error:
            logger.warning("The client does not tell of changed settings: %s", error or "no answer")

    async def pull(self, pushed: Json | None = None) -> None:
        """Of several at a time, the one that was begun last counts. What was `pushed` holds where the
        client gives no object."""
        if not self._asks:
            return
        self._asked += 1
        turn = self._asked
        try:
            params = {"items": [{"section": _SECTION}]}
            answers = await self._rpc.request(names.CONFIGURATION, params, limit=_LIMIT)
        except (RequestFault, TimeoutError):
            logger.warning("The client did not give its configuration")
            return
        except ClientGone:
            return
        if turn == self._asked:
            listed = cast("list[Any]", answers) if isinstance(answers, list) else []
            given = next(iter(listed), None)
            self.values = json_object(pushed if pushed is not None and not isinstance(given, dict) else given)

    async def changed(self, params: Json) -> None:
        """The client says that its settings have changed, with or without them."""
        await self.pull(self.push(params))

    def push(self, params: Json) -> Json | None:
        """Take the settings that the client has sent along; None: it has sent none."""
        pushed = json_object(params.get("settings")).get(_SECTION)
        if pushed is None:
            return None
        self.values = json_object(pushed)
        return self.values
