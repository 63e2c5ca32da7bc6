"""Files whose names and content no search shows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.tools.search.file_walk import walk
from pilothouse_agent.tools.search.glob_pattern import GlobPattern
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.search.search_scope import SearchScope

__all__ = ["ProtectedFiles", "protected_notice"]


class ProtectedFiles:
    """Told by globs over paths below a workspace folder, without regard to case.

    A glob that begins with `!` names exceptions from all others.
    """

    def __init__(self, workspace: Workspace, globs: Sequence[str]) -> None:
        self._workspace = workspace
        patterns = [GlobPattern(glob, ignore_case=True) for glob in globs]
        self._globs = [pattern for pattern in patterns if not pattern.negated]
        self._covered = _AnyOf(self._globs)
        self._parts = [_part_of(glob) for glob in globs if not glob.startswith("!")]
        self._excepted = _AnyOf([pattern for pattern in patterns if pattern.negated])

    def covers(self, path: str) -> bool:
        """`path` is absolute."""
        relative = self._relative(path)
        return self._covered.matches(relative) and not self._excepted.matches(relative)

    async def count(self, ripgrep: Ripgrep, scope: SearchScope, glob: GlobPattern | None) -> int:
        """How many of them a search leaves out, whatever they hold: a count of matches would tell."""
        if not self._globs:
            return 0
        found: list[str] = []

        def take(path: str) -> bool:
            if self.covers(path) and (glob is None or glob.matches(scope.relative(path))):
                found.append(path)
            return True

        parts = [part for part in self._parts if part]
        await walk(ripgrep, scope.roots, take, holding=parts if len(parts) == len(self._parts) else ())
        return len(found)

    def _relative(self, path: str) -> str:
        for folder in self._workspace.folders:
            below = path.removeprefix(folder.rstrip(os.sep) + os.sep)
            if below != path:
                return below
        return path.lstrip(os.sep)


def _part_of(glob: str) -> bytes:
    """What every path that fits holds, in small letters; empty when that cannot be told so simply."""
    body = glob.removeprefix("./")
    if not body.isascii() or set(body) & set("[{\\"):
        return b""
    parts = re.split(r"\*+|\?", body)
    return max(parts, key=len).lower().encode()


class _AnyOf:
    """Many patterns as two expressions: they are tried on every file of a workspace."""

    def __init__(self, globs: Sequence[GlobPattern]) -> None:
        self._names = _joined(glob.source for glob in globs if glob.of_names)
        self._paths = _joined(glob.source for glob in globs if not glob.of_names)

    def matches(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return self._names.fullmatch(name) is not None or self._paths.fullmatch(path) is not None


def _joined(sources: Iterable[str]) -> re.Pattern[str]:
    nothing = "(?!)"
    return re.compile("|".join(f"(?:{source})" for source in sources) or nothing, re.DOTALL | re.IGNORECASE)


def protected_notice(count: int) -> str:
    """Empty when none was skipped."""
    if not count:
        return ""
    return f"[{count} protected {'file was' if count == 1 else 'files were'} skipped]"
