"""Folders that are made on the way to a file, and taken away again with it. Blocks: call in a thread."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["missing_folders", "remove_empty"]


def missing_folders(path: str) -> tuple[str, ...]:
    """Those that would have to be made for a file at `path`, innermost first."""
    missing: list[str] = []
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(missing)


def remove_empty(folders: Iterable[str]) -> None:
    """Those of them that hold nothing, or nothing but others of them. Raises nothing."""
    for folder in sorted(set(folders), key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(folder)
