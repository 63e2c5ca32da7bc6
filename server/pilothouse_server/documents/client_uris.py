"""Paths as the client spells them: its own URI of what it has open, its own folder in front of the rest."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_server.documents.documents import Documents

__all__ = ["ClientUris"]


class ClientUris:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._given: dict[str, str] = {}
        """Folders as they were named, by where their links lead."""

    def learn(self, folders: Sequence[str]) -> None:
        """Absolute paths, which may lead through links. Looks at the disk."""
        for folder in folders:
            self._given.setdefault(os.path.realpath(folder), folder)

    def of(self, path: str) -> str:
        """The URI of an absolute path. From any thread."""
        found = self._documents.of_path(path)
        return found[0].uri if found else path_to_uri(self.named(path))

    def named(self, path: str) -> str:
        """The path below its folder as that was named."""
        for real, given in list(self._given.items()):
            if path == real or path.startswith(f"{real.rstrip('/')}/"):
                return f"{given.rstrip('/')}{path[len(real.rstrip('/')) :]}"
        return path
