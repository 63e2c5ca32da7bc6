"""The tool that finds files by name."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.spelling import real_path
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import ToolError, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.limits import cut_text
from pilothouse_agent.tools.search.file_walk import walk
from pilothouse_agent.tools.search.glob_pattern import GlobPattern
from pilothouse_agent.tools.search.nothing_found import look_around
from pilothouse_agent.tools.search.protected_files import ProtectedFiles, protected_notice
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.search.search_scope import TIMED_OUT, SearchScope, resolved_scope
from pilothouse_agent.tools.search.unsaved_search import unsaved_in
from pilothouse_agent.tools.visible import visible

__all__ = ["GlobFileTool"]

MAX_FILES = 1_000
_COLLECTED = 20_000
_HIDDEN = "[hidden by ignore rules, and given because its exact name was asked for]"

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

    def __init__(
        self,
        workspace: Workspace,
        ripgrep: Ripgrep,
        *,
        protected: tuple[str, ...] = (),
        open_files: OpenFiles | None = None,
    ) -> None:
        """Files that only `open_files` has are found too."""
        self._workspace = workspace
        self.open_files = open_files
        self.ripgrep = ripgrep
        self.protected = ProtectedFiles(workspace, protected)
        self.spec = ToolSpec("glob_file", _DESCRIPTION, schema_of(GlobFileArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        wanted = validate(GlobFileArguments, arguments)
        path, pattern = _from_elsewhere(wanted.path, wanted.pattern)
        path, pattern = _behind_links(self._workspace, path, pattern)
        scope = resolved_scope(self._workspace, path)
        listing = _Listing(self, wanted.limit, pattern, scope.glob(pattern), scope)
        return BoundCall(
            title=visible(f"Find {pattern}{scope.shown}"),
            footprint=scope.footprint,
            locations=scope.locations,
            run=listing.run,
        )


@dataclass(frozen=True, slots=True)
class _Listing:
    tool: GlobFileTool
    limit: int
    pattern: str
    """Relative to the roots of the scope."""
    glob: GlobPattern
    scope: SearchScope

    async def run(self, context: ToolContext) -> ToolResult:
        tool = self.tool
        unsaved = await unsaved_in(self.scope, tool.open_files, tool.protected)
        await asyncio.to_thread(self.scope.check, [file.path for file in unsaved])
        found = [file.path for file in unsaved if not file.on_disk and file.text is not None]
        found = [path for path in found if self.glob.matches(self.scope.relative(path))]
        protected: list[str] = []

        def take(path: str) -> bool:
            if self.glob.matches(self.scope.relative(path)):
                (protected if tool.protected.covers(path) else found).append(path)
            return len(found) <= _COLLECTED

        roots = await asyncio.to_thread(self.scope.existing)
        in_time = not roots or await walk(tool.ripgrep, roots, take, globs=[self.glob])
        notices: list[str] = []
        if not found and in_time:
            found, notices = await self._why_nothing()
        notices += [f"[{self.scope.taken}]" if self.scope.taken else ""]
        notices += [protected_notice(len(protected)), "" if in_time else TIMED_OUT]
        return await asyncio.to_thread(self._result, found, [notice for notice in notices if notice])

    async def _why_nothing(self) -> tuple[list[str], list[str]]:
        """What was meant all the same: a path that is there, a hidden file by its exact name; or why not."""
        tool = self.tool
        named, notice = await asyncio.to_thread(self._as_path)
        if named or notice:
            return named, [notice]
        around = await look_around(tool.ripgrep, self.scope, self.pattern, self.glob, tool.protected.covers)
        if around.hidden and not _MAGIC.search(self.pattern):
            return list(around.hidden), [_HIDDEN]
        return [], list(around.notices)

    def _as_path(self) -> tuple[list[str], str]:
        """The pattern taken for a path as it stands. Blocks."""
        for root in self.scope.roots:
            path = os.path.normpath(os.path.join(root, self.pattern.lstrip("/")))
            if not self.scope.holds(path) or not self.scope.holds(real_path(path)):
                continue
            if os.path.isdir(path) and path != root:
                shown = self.scope.shown_path(path)
                return [], f"[{shown} is a folder; {shown}/** finds the files in it]"
            if os.path.isfile(path) and not self.tool.protected.covers(real_path(path)):
                return [path], ""
        return [], ""

    def _result(self, found: Sequence[str], notices: Sequence[str]) -> ToolResult:
        limit = min(self.limit, MAX_FILES)
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
        # Only an editor has it, so it is new.
        return -time.time_ns(), path


def _from_elsewhere(path: str | None, pattern: str) -> tuple[str | None, str]:
    """A pattern that leads out of `path`, as the folder it begins with and the rest, anchored there."""
    if not pattern.startswith(_ELSEWHERE):
        return path, pattern
    parts = pattern.split("/")
    magic = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    folder = "/".join(parts[:magic]) or "/"
    rest = "/" + ("/".join(parts[magic:]) or "**")
    return (os.path.join(path or "", folder) if pattern.startswith("../") else folder), rest


def _behind_links(workspace: Workspace, path: str | None, pattern: str) -> tuple[str | None, str]:
    """Where the folders that a pattern names lead through a link: what they lead to, and the rest.

    So that is what is judged. Blocks.
    """
    parts = pattern.removeprefix("./").lstrip("/").split("/")
    folders = parts[: next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)]
    try:
        below = workspace.resolve(os.path.join(path or "", *folders)) if folders else ""
        start = workspace.resolve(path or os.curdir)
    except ToolError:
        return path, pattern
    if not below or not os.path.isdir(below) or real_path(below) == _own_folder(start, folders):
        return path, pattern
    return below, "/" + "/".join(parts[len(folders) :])


def _own_folder(start: str, folders: Sequence[str]) -> str:
    return os.path.normpath(os.path.join(real_path(start), *folders))
