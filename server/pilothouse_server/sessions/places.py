"""The folders that a new session works in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pilothouse_server.client.document_uris import path_of
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.protocol.faults import invalid

__all__ = ["session_places"]


def session_places(editor: EditorSide, cwd: str | None, folders: Sequence[str]) -> tuple[str, ...]:
    """Those asked for, else the window's. Blocks. Raises faults."""
    open_folders = editor.folders.paths
    for said in (cwd, *folders):
        if said is not None and said.startswith("file:"):
            editor.uris.hear(said)
    more = [_folder(folder, f"folders.{index}") for index, folder in enumerate(folders)]
    if cwd is not None:
        return (_folder(cwd, "cwd"), *more)
    if not open_folders:
        raise invalid("cwd", _nowhere())
    return (*open_folders[:1], *(more or open_folders[1:]))


def _folder(place: str, field: str) -> str:
    """An absolute path or a file URI of a folder that is there; `field` is where the params have it."""
    path = (path_of(place) or place) if place.startswith("file:") else place
    if not Path(path).is_absolute() or not Path(path).is_dir():
        raise invalid(field, f"{place!r} is not an absolute path or a file URI of a folder that exists")
    return path


def _nowhere() -> str:
    """Why there is no folder to work in. Looks at the disk."""
    try:
        os.getcwd()
    except OSError:
        return "no folder is open, and the one the server was started in is gone; say where to work"
    return "no folder that is open is on this machine; say where to work"
