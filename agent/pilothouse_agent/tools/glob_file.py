"""The tool that finds files by name."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.file_walk import walk
from pilothouse_agent.tools.glob_pattern import GlobPattern
from pilothouse_agent.tools.limits import cut_text
from pilothouse_agent.tools.protected_files import ProtectedFiles, protected_notice
from pilothouse_agent.tools.ripgrep import Ripgrep
from pilothouse_agent.tools.search_scope import TIMED_OUT, SearchScope, resolved_scope
from pilothouse_agent.tools.visible import visible

__all__ = ["GlobFileTool"]

MAX_FILES = 1_000
_COLLECTED = 20_000

_DESCRIPTION = """\
Find files by name, in the whole workspace or below `path`: `*.py` at any depth, `src/**/*.ts` from the \
folder searched. Gives one path a line, most recently changed first. Hidden files are found; files that git \
ignores (unless `path` names their folder), folders and symbolic links are not."""

_ELSEWHERE = ("/", "~", "../")
_MAGIC = re.compile(r"[*?\[{\\]")


class GlobFileArguments(Arguments):
    pattern: str = Field(min_length=1, description="Glob with *, **, ?, [a-z] and {a,b}.")
    path: str | None = Field(default=None, description="Folder to search in.")
    limit: int = Field(default=100, ge=1, description=f"Paths to show, at most {MAX_FILES}.")


class GlobFileTool:
    """Lists with ripgrep; files that fit a glob in `protected` are only counted."""

    kind: ToolKind = "search"

    def __init__(self, workspace: Workspace, ripgrep: Ripgrep, *, protected: tuple[str, ...] = ()) -> None:
        self._workspace = workspace
        self.ripgrep = ripgrep
        self.protected = ProtectedFiles(workspace, protected)
        self.spec = ToolSpec("glob_file", _DESCRIPTION, schema_of(GlobFileArguments))

    def bind(self, arguments: JsonObject) -> GlobFileInvocation:
        wanted = validate(GlobFileArguments, arguments)
        path, pattern = _from_elsewhere(wanted.path, wanted.pattern)
        glob = GlobPattern(pattern)
        return GlobFileInvocation(self, wanted, pattern, glob, resolved_scope(self._workspace, path))


@dataclass(frozen=True, slots=True)
class GlobFileInvocation:
    """One listing."""

    tool: GlobFileTool
    wanted: GlobFileArguments
    pattern: str
    """Relative to the roots of the scope."""
    glob: GlobPattern
    scope: SearchScope
    command: None = None

    @property
    def title(self) -> str:
        return visible(f"Find {self.pattern}{self.scope.shown}")

    @property
    def footprint(self) -> Footprint:
        return self.scope.footprint

    @property
    def locations(self) -> tuple[Location, ...]:
        return self.scope.locations

    async def preview(self, planned: PlannedFiles) -> None:
        return None

    async def execute(self, context: ToolContext) -> ToolResult:
        await asyncio.to_thread(self.scope.check)
        glob = self.glob
        found: list[str] = []
        protected: list[str] = []

        def take(path: str) -> bool:
            if glob.matches(self.scope.relative(path)):
                (protected if self.tool.protected.covers(path) else found).append(path)
            return len(found) <= _COLLECTED

        in_time = await walk(self.tool.ripgrep, self.scope.roots, take, globs=[glob])
        notices = [protected_notice(len(protected)), "" if in_time else TIMED_OUT]
        return await asyncio.to_thread(self._result, found, [notice for notice in notices if notice])

    def _result(self, found: Sequence[str], notices: Sequence[str]) -> ToolResult:
        limit = min(self.wanted.limit, MAX_FILES)
        shown = [self.scope.shown_path(path) for path in sorted(found, key=_newest_first)[:limit]]
        if not shown:
            shown = [f"No files fit {self.pattern!r}{self.scope.shown}."]
        if len(found) > limit:
            of = f"{len(found):,}" if len(found) <= _COLLECTED else f"more than {_COLLECTED:,}"
            notices = [
                f"[more files: {limit} of {of} are shown; narrow pattern or path, or raise limit]",
                *notices,
            ]
        paths = cut_text("\n".join(shown), notice="[more files: the list is cut; narrow pattern or path]")
        return ToolResult.text("\n".join([paths, *notices]))


def _newest_first(path: str) -> tuple[int, str]:
    try:
        return -os.stat(path, follow_symlinks=False).st_mtime_ns, path
    except OSError:
        return 0, path


def _from_elsewhere(path: str | None, pattern: str) -> tuple[str | None, str]:
    """A pattern that leads out of `path`, as the folder it begins with and the rest, anchored there."""
    if not pattern.startswith(_ELSEWHERE):
        return path, pattern
    parts = pattern.split("/")
    magic = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    folder = "/".join(parts[:magic]) or "/"
    rest = "/" + ("/".join(parts[magic:]) or "**")
    return (os.path.join(path or "", folder) if pattern.startswith("../") else folder), rest
