"""The documents that the editor has open, kept as it changes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from pilothouse_agent.files.file_key import file_key
from pilothouse_agent.files.same_text import same_text
from pilothouse_agent.kernel.foreign_documents import path_for_uri, uri_for_path
from pilothouse_server.client.document_uris import is_foreign, is_nameless, notebook_of, uri_key
from pilothouse_server.client.positions import Encoding
from pilothouse_server.documents.disk_looks import DiskLooks
from pilothouse_server.documents.document import Document, DocumentEvent, DocumentListener
from pilothouse_server.documents.listeners import Listeners
from pilothouse_server.documents.sync_params import Unfit, changed, opened, saved_text, uri_in
from pilothouse_server.wire.json_object import Json

__all__ = ["Documents"]

logger = logging.getLogger(__name__)

_CLOSED_KEPT = 1000
"""Documents closed lately, whose late changes mean nothing."""


class Documents:
    """By URI, however spelled, and by real path. Bad messages raise nothing: they put documents in doubt."""

    def __init__(self, encoding: Encoding, looks: DiskLooks | None = None) -> None:
        """`encoding` is the one that was negotiated."""
        self.encoding: Encoding = encoding
        self.looks = looks or DiskLooks()
        self.tells_first = False
        """Whether the client was seen to tell of an edit before it answered that it has made it."""
        self._open: dict[str, Document] = {}
        self._closed: dict[str, None] = {}
        self._looking: set[asyncio.Task[None]] = set()
        self._listeners = Listeners[Document, DocumentEvent]()

    def all(self) -> list[Document]:
        return list(self._open.values())

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri_key(uri))

    def of_path(self, real_path: str) -> list[Document]:
        """The open documents of a file, several when the client opened it by several names. From any thread.

        What has no file is found by its URI at the end of the path, as a model's path is understood.
        Links are as they were when looked up last; right after an opening a link may not be yet.
        """
        if (uri := uri_for_path(real_path)) is not None:
            return [document] if (document := self.get(uri)) is not None else []
        key = file_key(real_path)
        return [
            document
            for document in list(self._open.values())
            if (document.real_path is not None and file_key(document.real_path) == key)
            or (is_nameless(document.uri) and real_path.endswith("/" + document.uri))
        ]

    def foreign(self, uri: str) -> str | None:
        """The path that stands for an open document that is neither a file nor nameless. From any thread."""
        document = self.get(uri) if ":" in uri else None
        return path_for_uri(document.uri) if document is not None and is_foreign(document.uri) else None

    def cells_of(self, real_path: str) -> list[Document]:
        """The open cells of a notebook. From any thread."""
        key = file_key(real_path)
        notebooks = [(each, notebook_of(each.uri)) for each in list(self._open.values())]
        return [each for each, path in notebooks if path is not None and file_key(path) == key]

    def read_as(self, real_path: str) -> str | None:
        """The encoding that the editor says it has read an open file as. From any thread."""
        return next((document.read_as for document in self.of_path(real_path) if document.read_as), None)

    async def locate(self, real_path: str) -> list[Document]:
        """`of_path`, after looking anew where the links of all documents lead."""
        if not self._open:
            return []
        named = {document: document.path for document in self.all() if document.path is not None}
        found = await self.looks.places(named.values())
        for document, path in named.items():
            document.real_path = found.get(path, document.real_path)
        return self.of_path(real_path)

    async def unsaved(self, real_path: str) -> list[Document]:
        """Those documents of a file whose text may be lost with them: not saved, and not on disk either.

        A document in doubt is one of them.
        """
        found = [
            document
            for document in await self.locate(real_path)
            if document.doubt or document.text != document.saved
        ]
        if not found:
            return []
        on_disk = await self._disk_text(real_path)
        return [
            document
            for document in found
            if document.doubt or on_disk is None or not same_text(document.text, on_disk)
        ]

    def watch(self, listener: DocumentListener) -> Callable[[], None]:
        """Told of every document, synchronously and in order; returns what ends it."""
        return self._listeners.add(listener)

    def did_open(self, params: Json) -> None:
        uri = _uri(params)
        if uri is None:
            return
        self._closed.pop(uri_key(uri), None)
        document = self._open.get(uri_key(uri)) or self._add(uri)
        try:
            document.open(uri, opened(params))
        except Unfit as error:
            document.lose(f"the editor {error}")
        if document.path is not None:
            self._look_soon(document, document.path)

    def did_change(self, params: Json) -> None:
        uri = _uri(params)
        if uri is None:
            self._lose(self.all(), "the editor changed a document without naming it")
            return
        if uri_key(uri) in self._closed:
            logger.info("Ignored a change of a closed document")
            return
        document = self.get(uri)
        if document is None:
            document = self._add(uri)
            document.lose("the editor changed it without opening it")
        try:
            document.change(changed(params))
        except Unfit as error:
            document.lose(f"the editor {error}")

    def did_save(self, params: Json) -> None:
        uri = _uri(params)
        document = self.get(uri) if uri is not None else None
        if document is not None:
            document.save(saved_text(params))
            if document.path is not None:
                self._look_soon(document, document.path)

    def did_tell_encoding(self, params: Json) -> None:
        """Of a client that declares `encodings`: what it has read an open document as."""
        uri, name = params.get("uri"), params.get("encoding")
        document = self.get(uri) if isinstance(uri, str) else None
        if document is None or not isinstance(name, str):
            logger.warning("Ignored the encoding of a document that is not open, or that has no name")
            return
        document.read_as = name
        if document.path is not None:
            self._look_soon(document, document.path)

    def did_close(self, params: Json) -> None:
        uri = _uri(params)
        document = self._open.pop(uri_key(uri), None) if uri is not None else None
        if uri is None or document is None:
            return
        self._closed[uri_key(uri)] = None
        if len(self._closed) > _CLOSED_KEPT:
            del self._closed[next(iter(self._closed))]
        document.close()

    def garbled(self, body: bytes) -> None:
        """A message that nobody could read: what it may have changed is in doubt."""
        named = [document for document in self.all() if document.uri.encode("utf-8", "replace") in body]
        changed_any = self.all() if b"didChange" in body else []
        self._lose(named or changed_any, "a message of the editor about it could not be read")

    def _add(self, uri: str) -> Document:
        document = self._open[uri_key(uri)] = Document(uri, self.encoding)
        document.watch(self._listeners.tell)
        return document

    def _lose(self, documents: list[Document], reason: str) -> None:
        for document in documents:
            document.lose(reason)

    def _look_soon(self, document: Document, path: str) -> None:
        task = asyncio.create_task(self._look_at(document, path, document.text))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _look_at(self, document: Document, path: str, text: str) -> None:
        """Learn where the document really is, and whether the text it was opened with is the saved one."""
        found = await self.looks.at(path, patient=True, encoding=document.read_as)
        if found is None:
            return
        document.real_path = found.real_path
        document.had_file = document.had_file or found.exists
        if found.text is None or not same_text(text, found.text):
            return
        document.met = text
        if document.saved is None:
            document.saved = text

    async def _disk_text(self, real_path: str) -> str | None:
        found = await self.looks.at(real_path, encoding=self.read_as(real_path))
        return None if found is None else found.text


def _uri(params: Json) -> str | None:
    uri = uri_in(params)
    if uri is None:
        logger.warning("Ignored a message about a document that does not name one")
    return uri
