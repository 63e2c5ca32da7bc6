"""The charset that `.editorconfig` files give a file. Blocks: call in a thread."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from pilothouse_agent.files.glob_match import last_fitting

__all__ = ["charset_of"]

_NAME = ".editorconfig"
_MOST = 256 * 1024
"""Bytes of such a file that are read."""

_Sections = tuple[bool, tuple[tuple[str, str], ...]]
"""Whether farther files do not count, and each glob that has a charset, in order."""


def charset_of(path: str) -> str | None:
    """As it stands there, in lower case; None when nobody says. `path` is absolute.

    The nearest file wins, and in it the last section that fits; above one with `root = true` nobody is
    asked. Raises nothing.
    """
    folder = os.path.dirname(path)
    while True:
        root, sections = _sections(os.path.join(folder, _NAME))
        charset = last_fitting(sections, path[len(folder) :].lstrip(os.sep)) if sections else None
        if charset is not None:
            return None if charset == "unset" else charset
        if root or folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def _sections(path: str) -> _Sections:
    try:
        status = os.stat(path)
        if status.st_size > _MOST or not os.path.isfile(path):
            return False, ()
        return _read(path, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError):
        return False, ()


@lru_cache(maxsize=64)
def _read(path: str, _changed: int, _size: int) -> _Sections:
    root, glob = False, None
    found: list[tuple[str, str]] = []
    for line in Path(path).read_bytes().decode("utf-8-sig", "replace").splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            glob = line[1:-1]
            continue
        name, _, value = line.partition("=")
        name, value = name.strip().lower(), value.strip().lower()
        if glob is None:
            root = root or (name, value) == ("root", "true")
        elif name == "charset" and value:
            found.append((glob, value))
    return root, tuple(found)
