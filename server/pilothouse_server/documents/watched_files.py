"""What the editor sees happen to files on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from pilothouse_server.client.clients import profile_of
from pilothouse_server.client.document_uris import path_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.listeners import Listeners
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["DiskChange", "DiskChangeKind", "WatchedFiles"]

logger = logging.getLogger(__name__)

DiskChangeKind: TypeAlias = Literal["created", "changed", "deleted"]

_KINDS: dict[Any, DiskChangeKind] = {1: "created", 2: "changed", 3: "deleted"}
_REGISTER_LIMIT = 10.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class DiskChange:
    path: str
    """Absolute, as the client spells it."""
    kind: DiskChangeKind


class WatchedFiles:
    def __init__(self) -> None:
        self._listeners = Listeners[DiskChange]()

    def watch(self, listener: Callable[[DiskChange], object]) -> Callable[[], None]:
        """Told of each change; returns what ends it. A hint only: not every client can tell."""
        return self._listeners.add(listener)

    async def register(self, rpc: Rpc, client: Client) -> None:
        """Ask the client to tell, if anybody here wants to know; only after `initialized`."""
        if not self._listeners.any or not profile_of(client).watches_files:
            return
        registration = {
            "id": "pilothouse-files",
            "method": names.WATCHED_FILES_CHANGED,
            "registerOptions": {"watchers": [{"globPattern": "**/*"}]},
        }
        try:
            await rpc.request(names.REGISTER, {"registrations": [registration]}, limit=_REGISTER_LIMIT)
        except (RequestFault, TimeoutError, ClientGone) as error:
            logger.warning("The client does not watch files: %s", error or "no answer")

    def did_change(self, params: Mapping[str, Any]) -> None:
        listed = params.get("changes")
        for each in cast("list[Any]", listed) if isinstance(listed, list) else []:
            change = _change(each)
            if change is not None:
                self._listeners.tell(change)


def _change(value: Any) -> DiskChange | None:
    if not isinstance(value, dict):
        return None
    fields = cast("Mapping[str, Any]", value)
    uri, kind = fields.get("uri"), fields.get("type")
    path = path_of(uri) if isinstance(uri, str) else None
    if path is None or not isinstance(kind, int) or kind not in _KINDS:
        return None
    return DiskChange(path, _KINDS[kind])
