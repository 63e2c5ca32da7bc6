"""What is known of the editor: its documents and its folders."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pilothouse_server.client.clients import tells_late
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.client_uris import ClientUris
from pilothouse_server.documents.documents import Documents
from pilothouse_server.documents.quiet import Quiet
from pilothouse_server.documents.workspace_folders import WorkspaceFolders, folder_uris

__all__ = ["EditorSide"]


class EditorSide:
    def __init__(self, client: Client) -> None:
        self.documents = Documents(client.encoding)
        self.quiet = Quiet(self.documents, tells_late=tells_late(client))
        self.folders = WorkspaceFolders(client.folders)
        self.uris = ClientUris(self.documents, client.folder_uris)
        self._looking: set[asyncio.Task[None]] = set()

    def did_change_folders(self, params: Mapping[str, Any]) -> None:
        for uri in folder_uris(params, "added"):
            self.uris.hear(uri)
        self.folders.did_change(params)
        looking = asyncio.create_task(self.uris.look_up(self.folders.paths))
        self._looking.add(looking)
        looking.add_done_callback(self._looking.discard)
