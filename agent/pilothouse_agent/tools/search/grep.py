"""The tool that searches in files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache

from pydantic import Field

from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import ToolError, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.search.file_walk import name_choice
from pilothouse_agent.tools.search.glob_pattern import GlobPattern
from pilothouse_agent.tools.search.grep_matches import MatchReader
from pilothouse_agent.tools.search.grep_report import Findings, report
from pilothouse_agent.tools.search.nothing_found import Surroundings, look_around
from pilothouse_agent.tools.search.protected_files import ProtectedFiles, protected_notice
from pilothouse_agent.tools.search.ripgrep import Ripgrep, SearchEnd
from pilothouse_agent.tools.search.search_scope import TIMED_OUT, SearchScope, resolved_scope
from pilothouse_agent.tools.search.unsaved_search import laid_out, unsaved_in, unsearched_notice
from pilothouse_agent.tools.shell.output import OutputLimits
from pilothouse_agent.tools.visible import visible

__all__ = ["GrepTool"]

MAX_MATCHES = 1_000
_COLLECTED = 5_000

_DESCRIPTION = """\
Search for a regular expression in the lines of files, in the whole workspace or below `path`. Gives \
`path:line:text`, sorted by path; context lines as `path-line-text`. Hidden files are searched; files that \
git ignores (unless `path` names their folder), binary files and symbolic links are not."""


class GrepArguments(Arguments):
    pattern: str = Field(min_length=1, description="Regular expression (Rust syntax), matched line by line.")
    path: str | None = Field(default=None, description="File or folder to search in.")
    glob: str | None = Field(default=None, description="Only files that fit, such as *.py or src/**/*.ts.")
    ignore_case: bool = False
    literal: bool = Field(default=False, description="The pattern is plain text.")
    context: int = Field(default=0, ge=0, le=50, description="Lines to show before and after each match.")
    limit: int = Field(default=100, ge=1, description=f"Matching lines to show, at most {MAX_MATCHES}.")


class GrepTool:
    """Searches with ripgrep; nothing of files that fit a glob in `protected` is shown."""

    kind: ToolKind = "search"

    def __init__(
        self,
        workspace: Workspace,
        ripgrep: Ripgrep,
        *,
        protected: tuple[str, ...] = (),
        limits: OutputLimits | None = None,
        open_files: OpenFiles | None = None,
    ) -> None:
        """What `open_files` holds unsaved is searched as it is there."""
        self._workspace = workspace
        self.ripgrep = ripgrep
        self.open_files = open_files
        self.limits = limits or OutputLimits()
        self.protected = ProtectedFiles(workspace, protected)
        self.spec = ToolSpec("grep", _DESCRIPTION, schema_of(GrepArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        wanted = validate(GrepArguments, arguments)
        scope = resolved_scope(self._workspace, wanted.path)
        search = _Search(self, wanted, scope, scope.glob(wanted.glob) if wanted.glob else None)
        return BoundCall(
            title=visible(f"Search {wanted.pattern!r}{scope.shown}"),
            footprint=scope.footprint,
            locations=scope.locations,
            run=search.run,
        )


@dataclass(frozen=True, slots=True)
class _Search:
    tool: GrepTool
    wanted: GrepArguments
    scope: SearchScope
    glob: GlobPattern | None

    async def run(self, context: ToolContext) -> ToolResult:
        tool = self.tool
        unsaved = await unsaved_in(self.scope, tool.open_files, tool.protected)
        await asyncio.to_thread(self.scope.check, [file.path for file in unsaved])
        try:
            async with asyncio.TaskGroup() as tasks:
                counting = tasks.create_task(tool.protected.count(tool.ripgrep, self.scope, self.glob))
                async with laid_out(unsaved) as copies:
                    reader, end = await self._search(copies, {file.path for file in unsaved})
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        found = await asyncio.to_thread(self._result, reader, end)
        empty = not (reader.lines() or end.timed_out)
        reasons = await self._why_nothing() if empty else ()
        notices = [
            f"[{self.scope.taken}]" if self.scope.taken else "",
            *reasons,
            f"[binary files with a match, not shown: {reader.binary}]" if reader.binary else "",
            await asyncio.to_thread(unsearched_notice, unsaved, self.scope),
            protected_notice(counting.result()),
            TIMED_OUT if end.timed_out else "",
        ]
        return ToolResult.text("\n".join(filter(None, [found, *notices])))

    async def _search(self, copies: Mapping[str, str], unsaved: Set[str]) -> tuple[MatchReader, SearchEnd]:
        reader, end = await self._read(copies, unsaved, _COLLECTED)
        if not reader.full:
            return reader, end
        # Unsorted it is several times faster, but which matches come first is then left to chance.
        return await self._read(copies, unsaved, self._limit, "--sort=path")

    async def _read(
        self, copies: Mapping[str, str], unsaved: Set[str], enough: int, *options: str
    ) -> tuple[MatchReader, SearchEnd]:
        @cache
        def keep(path: str) -> bool:
            meant = copies.get(path)
            if meant is None and path in unsaved:
                return False
            fits = self.glob is None or self.glob.matches(self.scope.relative(meant or path))
            return fits and not self.tool.protected.covers(meant or path)

        reader = MatchReader(keep, enough, copies=copies)
        roots = await asyncio.to_thread(self.scope.existing)
        arguments = [*options, *self._arguments(), "--", *copies, *roots]
        end = await self.tool.ripgrep.run(arguments, reader.feed) if copies or roots else SearchEnd()
        reader.finish()
        if end.error:
            raise ToolError(_complaint(end.error, literal=self.wanted.literal))
        return reader, end

    async def _why_nothing(self) -> Sequence[str]:
        covers = self.tool.protected.covers
        around = await look_around(self.tool.ripgrep, self.scope, self.wanted.glob, self.glob, covers)
        return [self._nothing(around), *around.notices]

    def _nothing(self, around: Surroundings) -> str:
        wanted, shown = self.wanted, self.scope.shown
        if wanted.glob is None or (self.scope.named and around.fitting == 1):
            return f"No matches for {wanted.pattern!r}{shown}."
        if not around.fitting:
            return f"No file fits the glob {wanted.glob!r}{shown}, so nothing was searched."
        files = "1 file that fits" if around.fitting == 1 else f"{around.fitting:,} files that fit"
        return f"No matches for {wanted.pattern!r} in {files} {wanted.glob!r}{shown}."

    def _arguments(self) -> Sequence[str]:
        wanted = self.wanted
        return [
            *("--line-number", "--column", "--with-filename", "--no-heading", "--crlf"),
            *("--no-context-separator", f"--context={wanted.context}"),
            *["--ignore-case"] * wanted.ignore_case,
            *["--fixed-strings"] * wanted.literal,
            *(name_choice([self.glob]) if self.glob else ()),
            f"--regexp={wanted.pattern}",
        ]

    @property
    def _limit(self) -> int:
        return min(self.wanted.limit, MAX_MATCHES)

    def _result(self, reader: MatchReader, end: SearchEnd) -> str:
        """Blocks. Empty when nothing was found."""
        found = Findings(reader.lines(), complete=not (reader.full or end.timed_out))
        if found.lines:
            wanted, limits = self.wanted, self.tool.limits
            return report(found, self.scope, limit=self._limit, context=wanted.context, limits=limits)
        return f"No matches for {self.wanted.pattern!r}{self.scope.shown}." if end.timed_out else ""


def _complaint(error: str, *, literal: bool) -> str:
    found = re.search(r"^(?:error|rg): (?!regex parse error)(.*)", error, re.MULTILINE)
    reason = found[1] if found else error
    if literal or r'"\n"' in reason:
        return f"The pattern cannot be used: {reason}. Search for one line of it."
    return f"The pattern cannot be used: {reason}. To search for it as plain text, set literal to true."
