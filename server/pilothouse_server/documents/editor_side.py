"""What the editor tells of itself: its documents, its folders, and the files it watches.

A part of the server that is there from `initialize` on, so that no change ever waits to be heard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.documents import Documents
from pilothouse_server.documents.quiet import Quiet
from pilothouse_server.documents.saved_chats import SavedChats
from pilothouse_server.documents.watched_files import WatchedFiles
from pilothouse_server.documents.workspace_folders import WorkspaceFolders
from pilothouse_server.transport.rpc import METHOD_NOT_FOUND, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["EditorSide"]


class EditorSide:
    def __init__(self, client: Client) -> None:
        self.documents = Documents(client.encoding)
        self.quiet = Quiet(self.documents, tells_late=client.tells_late)
        self.saved_chats = SavedChats(self.documents)
        self.folders = WorkspaceFolders(client.folders)
        self.watched = WatchedFiles()
        self._client = client
        self._registering: asyncio.Task[None] | None = None
        self._heard: dict[str, Callable[[Mapping[str, Any]], None]] = {
            names.DID_OPEN: self.documents.did_open,
            names.DID_CHANGE: self.documents.did_change,
            names.DID_SAVE: self.documents.did_save,
            names.DID_CLOSE: self.documents.did_close,
            names.ENCODING: self.documents.did_tell_encoding,
            names.FOLDERS_CHANGED: self.folders.did_change,
            names.WATCHED_FILES_CHANGED: self.watched.did_change,
        }

    def hears(self, method: str) -> bool:
        return method in self._heard or (
            method == names.SEMANTIC_TOKENS and self._client.tells_when_refreshed
        )

    def start(self, rpc: Rpc) -> None:
        """The client may be asked from now on; a second call does nothing."""
        if self._registering is None:
            self._registering = asyncio.create_task(self.watched.register(rpc, self._client))

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        if method == names.SEMANTIC_TOKENS:
            return {"data": []}
        raise RequestFault(METHOD_NOT_FOUND, f"{method} is a notification.")

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        self._heard[method](params)
