"""Keeps the sessions at the settings that the client has now."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from pilothouse_server.client.clients import habits_of
from pilothouse_server.client.configuration import Configuration
from pilothouse_server.client.handshake import Client
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.sessions.settings_sources import SettingsSources
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.json_object import Json

__all__ = ["ClientSettings"]


class ClientSettings:
    """They count for new sessions, and for the next runs of those that are open."""

    def __init__(self, rpc: Rpc, client: Client, sources: SettingsSources, sessions: Sessions) -> None:
        self._rpc = rpc
        self._client = client
        self._sources = sources
        self._sessions = sessions
        self._configuration = Configuration(rpc, client)
        self._told: set[str] = set()
        self._running: set[asyncio.Task[None]] = set()

    def begin(self) -> asyncio.Task[None]:
        """The client may be asked from now on. Done when its settings are there, or will not come."""
        self._in_background(self._configuration.register())
        return self._in_background(self._take({}))

    def change(self, params: Json) -> None:
        """The client says that they have changed, with or without them; those that it gives count at once,
        also for what it says next."""
        if self._configuration.push(params) is not None:
            self._apply()
        self._in_background(self._take(params))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _take(self, params: Json) -> None:
        await self._configuration.changed(params)
        self._apply()

    def _apply(self) -> None:
        self._sessions.configure(*self._sources.read(self._configuration.values))
        self._tell()

    def _tell(self) -> None:
        """What is wrong with the settings, to editors that hear of no events."""
        new = [said for said in self._sessions.complaints if said not in self._told]
        self._told.update(new)
        if new and not self._client.wants_events:
            # One line: stock editors stop and ask for a key where a message has several.
            more = f" ({len(new) - 1} more in the log)" if len(new) > 1 else ""
            warning = habits_of(self._client.name).warning(f"{new[0]}{more}")
            self._rpc.notify(names.SHOW_MESSAGE, warning)
