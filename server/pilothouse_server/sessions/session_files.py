"""The files as the sessions of this server see them: one queue, and the editor's documents."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.encodings import DeclaredEncodings
from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.settings.settings import Settings
from pilothouse_server.client.clients import ClientProfile
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.closed_files import EditorClosedFiles, kinds_taken
from pilothouse_server.edits.editor_files import EditorFiles
from pilothouse_server.protocol.models import ClientFeatures
from pilothouse_server.transport.rpc import Rpc

__all__ = ["SessionFiles"]

logger = logging.getLogger(__name__)


class SessionFiles:
    def __init__(
        self,
        rpc: Rpc,
        documents: Documents,
        *,
        profile: ClientProfile,
        features: ClientFeatures,
        settings: Callable[[], Settings],
        uri_of: Callable[[str], str],
    ) -> None:
        """`settings` is asked before each change; `uri_of` spells paths as the client does."""
        self.queue = WriteQueue()
        self._rpc = rpc
        self._documents = documents
        self._profile = profile
        self._can_reload = features.reload
        self._closed_kinds = kinds_taken(profile, features)
        self._settings = settings
        self._uri_of = uri_of

    @property
    def miss_their_setting(self) -> bool:
        """Files that are not open are to go through the editor, and this client cannot do that."""
        return self._settings().edits_closed_files == "editor" and not self._closed_kinds

    def open_files(
        self, workspace: Workspace, *, tell: Callable[[str], object] = logger.warning
    ) -> OpenFiles:
        """`tell` is for what the user must know."""
        closed = EditorClosedFiles(
            self._rpc,
            self._documents,
            self._closed_kinds,
            route=lambda: self._settings().edits_closed_files,
            display=workspace.display,
            uri_of=self._uri_of,
        )
        return EditorFiles(
            self._rpc,
            self._documents,
            profile=self._profile,
            display=workspace.display,
            closed=closed,
            can_reload=self._can_reload,
            encodings=self._encodings(workspace),
            tell=tell,
        )

    def _encodings(self, workspace: Workspace) -> DeclaredEncodings:
        globs = {glob: str(name) for glob, name in (self._settings().files_encodings or {}).items()}
        return DeclaredEncodings(workspace.folders, globs=globs, editor=self._documents.read_as)

    def in_folder(self, folder: str) -> DiskFiles:
        """For a change that is no model's. `folder` shortens paths in messages. Blocks for a moment."""
        workspace = Workspace([folder])
        return DiskFiles(
            self.queue,
            display=workspace.display,
            write_limit=self._settings().tools_write_limit,
            open_files=self.open_files(workspace),
            encodings=self._encodings(workspace),
        )

    def quiet(self) -> DiskFiles:
        """The same, for changes that editors are to show no names of; messages name whole paths."""
        return DiskFiles(
            self.queue,
            write_limit=self._settings().tools_write_limit,
            open_files=EditorFiles(self._rpc, self._documents, profile=self._profile, labelled=False),
        )
