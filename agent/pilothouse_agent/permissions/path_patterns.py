"""Patterns for paths, as in ignore files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pilothouse_agent.kernel.globs import glob_source

__all__ = ["compile_pattern"]


def compile_pattern(pattern: str, *, folders: Sequence[str], home: str, ignore_case: bool) -> re.Pattern[str]:
    """For `fullmatch` on absolute paths. What matches a folder matches everything below it.

    Without a slash it matches a name at any depth; with one it begins at a workspace folder, at the
    home folder (`~/`) or at the root (`/`); `**` stands for any folders. Raises `ValueError`.
    """
    pattern = pattern.rstrip("/") or "/"
    try:
        source = _anchored(pattern, folders, home)
    except ValueError as error:
        raise ValueError(f"it {error}") from None
    return re.compile(f"{source}(?:/.*)?", re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _anchored(pattern: str, folders: Sequence[str], home: str) -> str:
    if pattern == "~" or pattern.startswith("~/"):
        return re.escape(home) + glob_source(pattern[1:])
    if pattern.startswith("/"):
        return glob_source(pattern.rstrip("/"))
    if pattern.startswith("**/") or "/" not in pattern:
        return "/" + glob_source("**/" + pattern.removeprefix("**/"))
    anchors = "|".join(re.escape(folder.rstrip("/")) for folder in folders)
    return f"(?:{anchors})/" + glob_source(pattern.removeprefix("./"))
