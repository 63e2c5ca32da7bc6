"""Workspace edits for files that are not open, and how one sees that they were made."""

from __future__ import annotations

import os
from collections.abc import Callable

from pilothouse_agent.files.same_text import same_but_last_end, with_lf
from pilothouse_agent.files.uris import path_to_uri
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_server.client.positions import Encoding
from pilothouse_server.documents.disk_look import look_at
from pilothouse_server.edits.text_edits import text_edits
from pilothouse_server.wire.json_object import Json

__all__ = ["closed_edit", "is_on_disk", "plain", "puts_text"]


def closed_edit(change: FileChange, encoding: Encoding, uri_of: Callable[[str], str] = path_to_uri) -> Json:
    """One file's edit. Nothing is ever to be overwritten or ignored by it. May take a while.

    `uri_of` spells paths as the editor does. New text has LF: any editor makes of it what the file has, and
    the places are the same.
    """
    uri = uri_of(change.path)
    match change.kind:
        case "rename":
            steps: list[Json] = [{"kind": "rename", "oldUri": uri_of(change.source or ""), "newUri": uri}]
        case "delete":
            steps = [{"kind": "delete", "uri": uri}]
        case "create":
            steps = [{"kind": "create", "uri": uri}, *_text_steps(uri, change, encoding)]
        case "modify":
            steps = _text_steps(uri, change, encoding)
    return {"documentChanges": steps}


def puts_text(change: FileChange) -> bool:
    """Whether it is to be seen in a document as well as on disk."""
    return change.kind in ("modify", "create")


def is_on_disk(change: FileChange) -> bool:
    """Whether it has been made there, the end of the last line aside. Blocks: call in a thread."""
    if change.kind == "delete":
        return _is_gone(change.path)
    if change.source is not None and not _is_gone(change.source):
        return False
    text = look_at(change.path).text
    return text is not None and same_but_last_end(text, change.after or "")


def plain(text: str | None) -> str:
    return with_lf(text or "")


def _is_gone(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _text_steps(uri: str, change: FileChange, encoding: Encoding) -> list[Json]:
    edits = [edit.to_wire() for edit in text_edits(plain(change.before), plain(change.after), encoding)]
    return [{"textDocument": {"uri": uri, "version": None}, "edits": edits}] if edits else []
