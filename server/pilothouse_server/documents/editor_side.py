"""What is known of the editor: its documents, its folders, and the files it watches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.client_uris import ClientUris
from pilothouse_server.documents.documents import Documents
from pilothouse_server.documents.quiet import Quiet
from pilothouse_server.documents.watched_files import WatchedFiles
from pilothouse_server.documents.workspace_folders import WorkspaceFolders, folder_uris
from pilothouse_server.transport.rpc import Rpc

__all__ = ["EditorSide"]


class EditorSide:
    def __init__(self, client: Client) -> None:
        self.documents = Documents(client.encoding)
        self.quiet = Quiet(self.documents, tells_late=client.tells_late)
        self.folders = WorkspaceFolders(client.folders)
        self.uris = ClientUris(self.documents, client.folder_uris)
        self.watched = WatchedFiles()
        self._client = client
        self._registering: asyncio.Task[None] | None = None
        self._looking: set[asyncio.Task[None]] = set()

    def start(self, rpc: Rpc) -> None:
        """The client may be asked from now on; a second call does nothing."""
        if self._registering is None:
            self._registering = asyncio.create_task(self.watched.register(rpc, self._client))

    def did_change_folders(self, params: Mapping[str, Any]) -> None:
        for uri in folder_uris(params, "added"):
            self.uris.hear(uri)
        self.folders.did_change(params)
        looking = asyncio.create_task(self.uris.look_up(self.folders.paths))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)
