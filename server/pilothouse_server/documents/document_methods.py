"""What the editor tells of its documents and folders.

These params are taken as they came, not as types of lsprotocol: a change of a document comes with every
key, and what does not fit must leave a doubt at its document, or the rest of its message, behind.
"""

from __future__ import annotations

from pygls.lsp.server import LanguageServer

from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.json_object import Json

__all__ = ["register_document_methods"]


def register_document_methods(server: LanguageServer, editor: EditorSide) -> None:
    @server.feature(names.DID_OPEN)
    def opened(params: Json) -> None:
        editor.documents.did_open(params)

    @server.feature(names.DID_CHANGE)
    def changed(params: Json) -> None:
        editor.documents.did_change(params)

    @server.feature(names.DID_SAVE)
    def saved(params: Json) -> None:
        editor.documents.did_save(params)

    @server.feature(names.DID_CLOSE)
    def closed(params: Json) -> None:
        editor.documents.did_close(params)

    @server.feature(names.ENCODING)
    def told_encoding(params: Json) -> None:
        editor.documents.did_tell_encoding(params)

    @server.feature(names.FOLDERS_CHANGED)
    def folders_changed(params: Json) -> None:
        editor.did_change_folders(params)

    _ = (opened, changed, saved, closed, told_encoding, folders_changed)
