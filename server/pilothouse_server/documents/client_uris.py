"""Paths as the client spells them: its own URI of what it has open, its own folder in front of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pilothouse_agent.files.spelling import real_path
from pilothouse_server.client.document_uris import path_of
from pilothouse_server.client.uri_style import UriStyle
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents

__all__ = ["ClientUris"]


class ClientUris:
    def __init__(self, documents: Documents, folders: Iterable[str] = ()) -> None:
        """`folders` are the URIs of the client's folders."""
        self._documents = documents
        self._style = UriStyle()
        self._given: dict[str, str] = {}
        """Folders as they were named, by where their links lead."""
        self._said: dict[str, str] = {}
        """The URIs of folders, by the paths in them."""
        for uri in folders:
            self.hear(uri)
        documents.watch(self._opened)

    def hear(self, folder: str) -> None:
        """The URI of a folder, from the client. From any thread."""
        path = path_of(folder)
        if path is not None:
            bare = path.rstrip("/")
            self._said = {**self._said, bare: folder[: len(folder) - (len(path) - len(bare))]}
            self._style.learn(folder)

    def learn(self, folders: Sequence[str]) -> None:
        """Absolute paths, which may lead through links. Looks at the disk."""
        self._take({folder: real_path(folder) for folder in folders})

    async def look_up(self, folders: Sequence[str]) -> None:
        """The same, as far as the disk answers in time."""
        self._take(await self._documents.looks.places(folders))

    def of(self, path: str) -> str:
        """The URI of an absolute path. From any thread."""
        found = self._documents.of_path(path)
        if found:
            return found[0].uri
        named = self.named(path)
        folder = _innermost(self._said, named) or ""
        return self._said.get(folder, "file://") + self._style.quoted(named[len(folder) :])

    def named(self, path: str) -> str:
        """The path below its folder as that was named. From any thread."""
        folder = _innermost(self._given, path)
        return path if folder is None else (self._given[folder] + path[len(folder) :]) or "/"

    def _take(self, places: dict[str, str]) -> None:
        given = {real.rstrip("/"): folder.rstrip("/") for folder, real in places.items()}
        self._given = {**given, **self._given}

    def _opened(self, document: Document, event: DocumentEvent) -> None:
        if event == "opened" and document.path is not None:
            self._style.learn(document.uri)


def _innermost(folders: Iterable[str], path: str) -> str | None:
    """Of those in which the path is, without a slash at their ends."""
    return max(
        (each for each in folders if path == each or path.startswith(f"{each}/")), key=len, default=None
    )
