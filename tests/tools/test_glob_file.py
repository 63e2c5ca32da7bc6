"""The glob_file tool, with the real search program."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.tooling import Footprint, InvalidArguments, ToolError, Touch, Violation
from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.shell.environment import child_environment


class Glob:
    """The tool over some folders, and a short way to call it."""

    def __init__(self, context: ToolContext, *folders: Path, protected: tuple[str, ...] = ()) -> None:
        workspace = Workspace(folders)
        ripgrep = Ripgrep(child_environment(os.environ))
        self.tool = GlobFileTool(workspace, ripgrep, protected=protected)
        self._context = context

    async def __call__(self, pattern: str, **arguments: str | int) -> list[str]:
        call = await asyncio.to_thread(self.tool.bind, {"pattern": pattern, **arguments})
        async with asyncio.timeout(10):
            result = await call.execute(self._context)
        assert not result.is_error
        return text_of(result.content).splitlines()


@pytest.fixture
def glob(context: ToolContext, folder: Path) -> Glob:
    return Glob(context, folder)


def touch(folder: Path, *names: str) -> None:
    """Make files, each a second older than the one before."""
    for age, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))


async def test_files_come_newest_first(glob: Glob, folder: Path) -> None:
    touch(folder, "src/b.py", "a.py", "src/deep/.c.py", "d.ts")

    assert await glob("*.py") == ["src/b.py", "a.py", "src/deep/.c.py"]
    assert await glob("src/*.py") == ["src/b.py"]
    assert await glob("**/*", path="src") == ["src/b.py", "src/deep/.c.py"]


async def test_more_files_than_the_limit_are_announced(glob: Glob, folder: Path) -> None:
    touch(folder, *(f"{number}.py" for number in range(5)))

    assert await glob("*.py", limit=2) == [
        "0.py",
        "1.py",
        "[more files: 2 of 5 are shown; narrow pattern or path, or raise limit]",
    ]


async def test_no_file_is_not_an_error(glob: Glob) -> None:
    assert await glob("*.py") == ["No files fit '*.py'."]


@pytest.mark.covers("R062", "R134")
async def test_every_file_is_listed_once_and_no_link_is_followed(glob: Glob, folder: Path) -> None:
    touch(folder.parent, "outside/s.rs")
    touch(folder, "a/x.rs", "y.rs")
    (folder / "a/loop").symlink_to("..")
    (folder / "self").symlink_to("self")
    (folder / "broken").symlink_to("nowhere")
    (folder / "l.rs").symlink_to(folder.parent / "outside/s.rs")
    (folder / "far").symlink_to(folder.parent / "outside")

    assert await glob("**/*") == ["a/x.rs", "y.rs"]


@pytest.mark.covers("R133")
@pytest.mark.parametrize("pattern", ["**/*", "*.{ts,log}", "**/*.{ts,log}"])
async def test_what_git_ignores_is_left_out(glob: Glob, folder: Path, pattern: str) -> None:
    touch(folder, "build/x.ts", "a.log", "keep/b.log", "c.ts", ".git/d.ts")
    (folder.parent / "ignore").write_text("build/\n*.log\n/.gitignore\n/keep/.gitignore\n")
    (folder / ".gitignore").symlink_to("../ignore")
    (folder / "keep/.gitignore").write_text("!*.log\n")

    assert await glob(pattern) == ["keep/b.log", "c.ts"]
    assert await glob("*.ts", path="build") == ["build/x.ts"]


@pytest.mark.covers("R133")
@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
def test_the_files_are_those_that_git_would_list(context: ToolContext, folder: Path) -> None:
    touch(
        folder,
        "a.py",
        "b.pyc",
        "out/a",
        "out/keep",
        "x/out/b",
        "x/y/.hid",
        "x/z.tmp",
        "x/y/z.tmp",
        "sp ace.py",
    )
    (folder / ".gitignore").write_text("*.pyc\n/out/*\n!/out/keep\n**/y/*.tmp\n\\sp\\ ace.py\n")
    (folder / "x/.gitignore").write_text("*\n!*/\n!z.tmp\n")
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    listed = subprocess.check_output([*git, "ls-files", "-co", "--exclude-standard", "-z"], text=True)

    assert sorted(asyncio.run(Glob(context, folder)("**/*"))) == sorted(listed.rstrip("\0").split("\0"))


@pytest.mark.covers("R137")
async def test_protected_files_are_only_counted(context: ToolContext, folder: Path) -> None:
    touch(folder, ".env", "sub/.ENV", "id_rsa", "a.py")
    glob = await asyncio.to_thread(Glob, context, folder, protected=(".env", "id_rsa"))

    assert await glob("**/*") == ["a.py", "[3 protected files were skipped]"]
    assert await glob("**/.env") == ["No files fit '**/.env'.", "[1 protected file was skipped]"]
    assert await glob("*.py") == ["a.py"]


@pytest.mark.covers("R067")
async def test_every_listed_path_is_accepted_as_printed(context: ToolContext, tmp_path: Path) -> None:
    touch(tmp_path, "one/same.py", "two/same.py", "one/two/same.py", "two/only here.py")
    glob = await asyncio.to_thread(Glob, context, tmp_path / "one", tmp_path / "two")
    printed = await glob("**/*")

    assert len(set(printed)) == 4
    assert [await glob("*", path=path) for path in printed] == [[path] for path in printed]


async def test_a_pattern_may_lead_elsewhere(glob: Glob, folder: Path) -> None:
    touch(folder.parent, "other/a.py", "other/sub/b.py")
    outside = os.path.realpath(folder.parent / "other")

    assert await glob(f"{outside}/*.py") == [f"{outside}/a.py"]
    assert await glob("../other/**/*.py") == [f"{outside}/a.py", f"{outside}/sub/b.py"]
    assert await glob(f"{outside}/a.py") == [f"{outside}/a.py"]


def test_a_call_reads_where_it_looks(context: ToolContext, folder: Path) -> None:
    tool = Glob(context, folder).tool
    real = os.path.realpath(folder)
    elsewhere = tool.bind({"pattern": "/etc/*.conf"})

    assert tool.bind({"pattern": "*"}).footprint == Footprint(reads=(Touch(real, subtree=True),))
    assert elsewhere.footprint == Footprint(reads=(Touch("/etc", subtree=True),))
    assert (elsewhere.locations, elsewhere.title) == ((Location("/etc"),), "Find /*.conf in /etc")


async def test_a_folder_that_is_not_there_is_a_clear_error(glob: Glob) -> None:
    with pytest.raises(ToolError, match=r"^There is no file or folder 'nope'\."):
        await glob("*", path="nope")


def test_a_path_that_cannot_be_understood_is_a_violation(context: ToolContext, folder: Path) -> None:
    with pytest.raises(InvalidArguments) as refused:
        Glob(context, folder).tool.bind({"pattern": "*", "path": "a\0"})

    assert refused.value.violations == (
        Violation("path", "The path holds a NUL character, which no file name can have."),
    )
