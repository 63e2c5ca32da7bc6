"""What is on disk behind a document. Blocks: call in a thread."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pilothouse_agent.files.spelling import real_path

__all__ = ["LOOK_LIMIT", "DiskLook", "look_at"]

LOOK_LIMIT = 5.0
"""Seconds for a look at the disk, which may be a network's."""


@dataclass(frozen=True, slots=True)
class DiskLook:
    real_path: str
    text: str | None
    """None: there is no such file, or no text that we can read."""
    exists: bool = True


def look_at(path: str, encoding: str | None = None) -> DiskLook:
    """Raises nothing for whatever stands at the path. `encoding` is the editor's word."""
    # The agent's files are loaded by the first look, not with the connection.
    from pilothouse_agent.files.codec import decode
    from pilothouse_agent.files.disk import Disk
    from pilothouse_agent.files.encodings import DeclaredEncodings
    from pilothouse_agent.kernel.tooling import ToolError

    try:
        real = real_path(path)
        said = DeclaredEncodings(editor=lambda _: encoding).of(real)
        return DiskLook(real, decode(Disk().load(real).data, real, declared=said).text)
    except (OSError, ValueError, ToolError):
        return DiskLook(_real_or_same(path), None, os.path.lexists(path))


def _real_or_same(path: str) -> str:
    try:
        return real_path(path)
    except (OSError, ValueError):
        return path
