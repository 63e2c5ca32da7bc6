"""Why a search found nothing: what fits elsewhere, what is hidden, which links were passed by."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pilothouse_agent.files.near_names import looks_alike, telling_name
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.search.file_walk import walk
from pilothouse_agent.tools.search.glob_pattern import GlobPattern
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.search.search_scope import SearchScope

__all__ = ["Surroundings", "look_around"]

_NEAREST = 3
_COLLECTED = 20_000
_LINKS = 5
_LOOKED_AT = 20_000
_MAGIC = re.compile(r"[*?\[{\\!]")
_FOREIGN = (
    (re.compile(r"[@+?*!]\("), "+(…), @(…) and the like are not known in globs here; {a,b} is"),
    (
        re.compile(r"^\^|\$$|\\[.wdsb]|\.\*|\.\+"),
        "it looks like a regular expression, not a glob such as *.py",
    ),
    (re.compile(r"[*?][^/]*[,;| ]+[^/{}]*[*?]"), "several globs in one are written with braces: {*.py,*.ts}"),
    (re.compile(r"\w\\\w|^\w:\\"), "folders are parted by forward slashes"),
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    fitting: int
    """Files that are searched and fit the glob."""
    hidden: tuple[str, ...]
    """Files that would fit, were they not hidden by ignore rules."""
    notices: tuple[str, ...]


async def look_around(
    ripgrep: Ripgrep,
    scope: SearchScope,
    pattern: str | None,
    glob: GlobPattern | None,
    covers: Callable[[str], bool],
) -> Surroundings:
    """`pattern` is the glob as it was written; `covers` says which files are not to be told of."""
    listed: list[str] = []
    fitting = 0

    def take(path: str) -> bool:
        nonlocal fitting
        if not covers(path):
            fitting += glob is None or glob.matches(scope.relative(path))
            if len(listed) < _COLLECTED:
                listed.append(path)
        return True

    hidden = _Hidden(scope, glob, covers)
    roots = await asyncio.to_thread(scope.existing)
    await walk(ripgrep, roots, take)
    await walk(ripgrep, roots, hidden.take, ignored=True)
    count = hidden.count - fitting
    known = set(listed)
    found = [path for path in hidden.paths if path not in known]
    meant = pattern if not fitting else None
    notices = await asyncio.to_thread(_notices, scope, meant, listed, count)
    return Surroundings(fitting, tuple(found), tuple(notices))


class _Hidden:
    def __init__(self, scope: SearchScope, glob: GlobPattern | None, covers: Callable[[str], bool]) -> None:
        self.count = 0
        self.paths: list[str] = []
        self._scope = scope
        self._glob = glob
        self._covers = covers

    def take(self, path: str) -> bool:
        if (self._glob is None or self._glob.matches(self._scope.relative(path))) and not self._covers(path):
            self.count += 1
            if len(self.paths) < _COLLECTED:
                self.paths.append(path)
        return True


def _notices(scope: SearchScope, pattern: str | None, listed: Sequence[str], hidden: int) -> list[str]:
    notices: list[str] = []
    if pattern is not None:
        if near := _nearest(scope, pattern, listed):
            notices.append(f"nearest: {', '.join(_told(scope, path, pattern) for path in near)}")
        notices += [told for expression, told in _FOREIGN if expression.search(pattern)]
    if hidden > 0:
        files = "1 more is" if hidden == 1 else f"{hidden:,} more are"
        notices.append(f"{files} hidden by ignore rules; name one or its folder as path to search it")
    if links := _links(scope):
        notices.append(f"links to folders were not followed: {', '.join(links)}; name one as path for it")
    return [f"[{notice}]" for notice in notices]


def _nearest(scope: SearchScope, pattern: str, listed: Sequence[str]) -> list[str]:
    """Files that fit when they may lie anywhere, or by their name alone, or that are called much the same."""
    body = pattern.removeprefix("./").lstrip("/!")
    name = body.rstrip("/").rpartition("/")[2]
    for looser in dict.fromkeys((f"**/{body}", name)):
        try:
            glob = GlobPattern(looser, ignore_case=True)
        except ToolError:
            continue
        if looser.strip("*/") and (found := [p for p in listed if glob.matches(scope.relative(p))]):
            return sorted(found, key=lambda path: (path.count(os.sep), path))[:_NEAREST]
    if _MAGIC.search(name):
        return []
    names = {os.path.basename(path): path for path in reversed(listed)}
    return [names[each] for each in get_close_matches(name, names, n=_NEAREST, cutoff=0.7)]


def _told(scope: SearchScope, path: str, pattern: str) -> str:
    """With escapes where it would look just like what was asked for."""
    shown = scope.shown_path(path)
    alike = looks_alike(os.path.basename(path), pattern.rpartition("/")[2])
    return telling_name(shown) if alike else shown


def _links(scope: SearchScope) -> list[str]:
    """Links to folders below the roots, each with where it leads; as many as can be looked for quickly."""
    found: list[str] = []
    looked = 0
    pending = [*scope.roots]
    while pending and looked < _LOOKED_AT and len(found) < _LINKS:
        try:
            with os.scandir(pending.pop()) as listing:
                entries = list(listing)
        except OSError:
            continue
        looked += len(entries)
        for entry in entries:
            if entry.is_symlink() and entry.is_dir():
                found.append(f"{scope.shown_path(entry.path)} -> {os.readlink(entry.path)}")
            elif entry.is_dir(follow_symlinks=False) and entry.name not in (".git", "node_modules"):
                pending.append(entry.path)
    return found[:_LINKS]
