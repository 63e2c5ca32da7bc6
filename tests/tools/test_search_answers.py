"""A search that finds nothing says why: nothing fits, nothing matches, or something is hidden."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.ports import Tool
from pilothouse_agent.permissions.protected import PROTECTED_GLOBS
from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_agent.tools.search.grep import GrepTool
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.shell.environment import child_environment
from support.context import RecordingContext


class Search:
    """Both tools in one folder."""

    def __init__(self, folder: Path, context: RecordingContext) -> None:
        workspace, ripgrep = Workspace([folder]), Ripgrep(child_environment(os.environ))
        self._context = context
        self._files = GlobFileTool(workspace, ripgrep, protected=PROTECTED_GLOBS)
        self._grep = GrepTool(workspace, ripgrep, protected=PROTECTED_GLOBS)

    async def files(self, pattern: str, **arguments: str) -> list[str]:
        return await self._lines(self._files, pattern=pattern, **arguments)

    async def grep(self, pattern: str, **arguments: str) -> list[str]:
        return await self._lines(self._grep, pattern=pattern, **arguments)

    async def _lines(self, tool: Tool, **arguments: str) -> list[str]:
        call = await asyncio.to_thread(tool.bind, dict(arguments))
        async with asyncio.timeout(10):
            result = await call.execute(self._context)
        return text_of(result.content).splitlines()


@pytest.fixture
def search(folder: Path, context: RecordingContext) -> Search:
    return Search(folder, context)


def write(folder: Path, *names: str, text: str = "x\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.covers("R241")
@pytest.mark.parametrize(
    "path",
    [
        "app/[id]/page.tsx",
        "app/[...slug]/page.tsx",
        "app/[user-id]/page.tsx",
        "app/(group)/@modal/page.tsx",
        "a{b}/c.txt",
        "we*rd?.txt",
        "{open.txt",
    ],
)
async def test_a_pattern_that_is_the_path_of_a_file_is_that_file(
    search: Search, folder: Path, path: str
) -> None:
    write(folder, path, "other.md")

    assert await search.files(path) == [path]
    assert await search.files(str(folder / path)) == [path]
    assert await search.grep("x", glob=path) == [f"{path}:1:x"]


@pytest.mark.covers("R241")
async def test_brackets_mean_themselves_also_beside_wildcards(search: Search, folder: Path) -> None:
    write(folder, "app/[id]/page.tsx", "app/i/page.tsx", "web/[slug]/x.ts")

    assert sorted(await search.files("app/[id]/*.tsx")) == ["app/[id]/page.tsx", "app/i/page.tsx"]
    assert await search.files("**/[slug]/*.ts") == ["web/[slug]/x.ts"]


@pytest.mark.covers("R241")
@pytest.mark.parametrize(
    ("glob", "nearest"),
    [
        (".github/workflows/*.{yml,yaml}", "a/b/.github/workflows/ci.yml"),
        ("src/Main.py", "src/main.py"),
        ("lib/main.py", "src/main.py"),
        ("src/mian.py", "src/main.py"),
    ],
)
async def test_where_nothing_fits_the_nearest_files_are_named(
    search: Search, folder: Path, glob: str, nearest: str
) -> None:
    write(folder, "a/b/.github/workflows/ci.yml", "src/main.py", "README")

    told = f"[nearest: {nearest}]"
    nothing = f"No file fits the glob {glob!r}, so nothing was searched."
    assert await search.grep("x", glob=glob) == [nothing, told]
    assert await search.files(glob) == [f"No files fit {glob!r}.", told]


@pytest.mark.covers("R241")
async def test_what_fits_and_does_not_match_is_counted(search: Search, folder: Path) -> None:
    write(folder, *(f"{number}/a.yml" for number in range(12)), "b.md")

    assert await search.grep("absent", glob="*.yml") == [
        "No matches for 'absent' in 12 files that fit '*.yml'."
    ]
    assert await search.grep("absent", glob="*.md") == ["No matches for 'absent' in 1 file that fits '*.md'."]


@pytest.mark.covers("R241")
async def test_what_ignore_rules_hide_is_counted_or_given_by_its_exact_name(
    search: Search, folder: Path
) -> None:
    write(folder, ".gitignore", text="dist/\n*.log\n")
    write(folder, "dist/a.js", "dist/b.js", "dist/deep/c.js", "x.log")
    hidden = "hidden by ignore rules; name one or its folder as path to search it]"

    assert await search.files("*.js") == ["No files fit '*.js'.", f"[3 more are {hidden}"]
    assert await search.files("dist/a.js") == ["dist/a.js"]
    assert await search.files("c.js") == [
        "dist/deep/c.js",
        "[hidden by ignore rules, and given because its exact name was asked for]",
    ]
    assert await search.grep("x", glob="*.log") == [
        "No file fits the glob '*.log', so nothing was searched.",
        f"[1 more is {hidden}",
    ]
    assert await search.grep("x", path="dist", glob="c.js") == ["dist/deep/c.js:1:x"]


@pytest.mark.covers("R241")
async def test_protected_files_are_neither_near_nor_hidden(search: Search, folder: Path) -> None:
    write(folder, ".gitignore", text=".env\n")
    write(folder, ".env", "a/.env.local")

    assert await search.files(".env") == ["No files fit '.env'."]
    assert await search.grep("x", glob="b/.env.local") == [
        "No file fits the glob 'b/.env.local', so nothing was searched."
    ]


@pytest.mark.covers("R241")
@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("*.py,*.ts", "several globs in one are written with braces: {*.py,*.ts}"),
        ("*.py *.ts", "several globs in one are written with braces: {*.py,*.ts}"),
        ("+(a|b).py", "+(…), @(…) and the like are not known in globs here; {a,b} is"),
        (r".*\.py$", "it looks like a regular expression, not a glob such as *.py"),
        ("src", "src is a folder; src/** finds the files in it"),
    ],
)
async def test_what_is_no_glob_here_is_named(search: Search, folder: Path, pattern: str, told: str) -> None:
    write(folder, "src/a.rs")

    assert await search.files(pattern) == [f"No files fit {pattern!r}.", f"[{told}]"]
