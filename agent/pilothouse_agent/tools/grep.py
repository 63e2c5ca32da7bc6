"""The tool that searches in files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import Field

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, ToolError, ToolResult
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.file_walk import name_choice
from pilothouse_agent.tools.glob_pattern import GlobPattern
from pilothouse_agent.tools.grep_matches import MatchReader
from pilothouse_agent.tools.grep_report import Findings, report
from pilothouse_agent.tools.output import OutputLimits
from pilothouse_agent.tools.protected_files import ProtectedFiles, protected_notice
from pilothouse_agent.tools.ripgrep import Ripgrep, SearchEnd
from pilothouse_agent.tools.search_scope import TIMED_OUT, SearchScope, resolved_scope
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
    ) -> None:
        self._workspace = workspace
        self.ripgrep = ripgrep
        self.limits = limits or OutputLimits()
        self.protected = ProtectedFiles(workspace, protected)
        self.spec = ToolSpec("grep", _DESCRIPTION, schema_of(GrepArguments))

    def bind(self, arguments: JsonObject) -> GrepInvocation:
        wanted = validate(GrepArguments, arguments)
        glob = GlobPattern(wanted.glob) if wanted.glob else None
        return GrepInvocation(self, wanted, resolved_scope(self._workspace, wanted.path), glob)


@dataclass(frozen=True, slots=True)
class GrepInvocation:
    """One search."""

    tool: GrepTool
    wanted: GrepArguments
    scope: SearchScope
    glob: GlobPattern | None
    command: None = None

    @property
    def title(self) -> str:
        return visible(f"Search {self.wanted.pattern!r}{self.scope.shown}")

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
        try:
            async with asyncio.TaskGroup() as tasks:
                counting = tasks.create_task(self.tool.protected.count(self.tool.ripgrep, self.scope, glob))
                reader, end = await self._search(glob)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return await asyncio.to_thread(self._result, reader, end, counting.result())

    async def _search(self, glob: GlobPattern | None) -> tuple[MatchReader, SearchEnd]:
        reader, end = await self._read(glob, _COLLECTED)
        if not reader.full:
            return reader, end
        # Unsorted it is several times faster, but which matches come first is then left to chance.
        return await self._read(glob, self._limit, "--sort=path")

    async def _read(
        self, glob: GlobPattern | None, enough: int, *options: str
    ) -> tuple[MatchReader, SearchEnd]:
        @cache
        def keep(path: str) -> bool:
            fits = glob is None or glob.matches(self.scope.relative(path))
            return fits and not self.tool.protected.covers(path)

        reader = MatchReader(keep, enough)
        end = await self.tool.ripgrep.run([*options, *self._arguments(glob)], reader.feed)
        reader.finish()
        if end.error:
            raise ToolError(_complaint(end.error, literal=self.wanted.literal))
        return reader, end

    def _arguments(self, glob: GlobPattern | None) -> Sequence[str]:
        wanted = self.wanted
        return [
            *("--line-number", "--column", "--with-filename", "--no-heading", "--crlf"),
            *("--no-context-separator", f"--context={wanted.context}"),
            *["--ignore-case"] * wanted.ignore_case,
            *["--fixed-strings"] * wanted.literal,
            *(name_choice([glob]) if glob else ()),
            f"--regexp={wanted.pattern}",
            *("--", *self.scope.roots),
        ]

    @property
    def _limit(self) -> int:
        return min(self.wanted.limit, MAX_MATCHES)

    def _result(self, reader: MatchReader, end: SearchEnd, protected: int) -> ToolResult:
        found = Findings(reader.lines(), complete=not (reader.full or end.timed_out))
        if found.lines:
            wanted = self.wanted
            limits = self.tool.limits
            text = report(found, self.scope, limit=self._limit, context=wanted.context, limits=limits)
        else:
            text = f"No matches for {self.wanted.pattern!r}{self.scope.shown}."
        notices = [
            f"[binary files with a match, not shown: {reader.binary}]" if reader.binary else "",
            protected_notice(protected),
            TIMED_OUT if end.timed_out else "",
        ]
        return ToolResult.text("\n".join([text, *filter(None, notices)]))


def _complaint(error: str, *, literal: bool) -> str:
    found = re.search(r"^(?:error|rg): (?!regex parse error)(.*)", error, re.MULTILINE)
    reason = found[1] if found else error
    if literal or r'"\n"' in reason:
        return f"The pattern cannot be used: {reason}. Search for one line of it."
    return f"The pattern cannot be used: {reason}. To search for it as plain text, set literal to true."
