"""The grep tool, with the real search program."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.tooling import Footprint, InvalidArguments, ToolError, Touch
from pilothouse_agent.tools.search.grep import GrepTool
from pilothouse_agent.tools.search.grep_matches import FoundLine, MatchReader
from pilothouse_agent.tools.search.ripgrep import Ripgrep, find_ripgrep
from pilothouse_agent.tools.shell.environment import child_environment

GLOBS = [".env.*", "*.pem", "**/.ssh/", "**/.aws/credentials", "a/b", "x*y?z", "[ab].c"]


class Grep:
    """The tool over some folders, and a short way to call it."""

    def __init__(self, context: ToolContext, *folders: Path, protected: tuple[str, ...] = ()) -> None:
        workspace = Workspace(folders)
        ripgrep = Ripgrep(child_environment(os.environ))
        self.tool = GrepTool(workspace, ripgrep, protected=protected)
        self._context = context

    async def __call__(self, pattern: str, **arguments: str | int) -> str:
        call = await asyncio.to_thread(self.tool.bind, {"pattern": pattern, **arguments})
        async with asyncio.timeout(10):
            result = await call.execute(self._context)
        assert not result.is_error
        return text_of(result.content)


@pytest.fixture
def grep(context: ToolContext, folder: Path) -> Grep:
    return Grep(context, folder)


def write(folder: Path, **texts: str) -> None:
    """`a_py="x"` writes `a.py`, `sub__a_py` writes `sub/a.py`."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


async def test_matches_come_with_path_and_line_in_order(grep: Grep, folder: Path) -> None:
    write(folder, b_py="needle\nno\na needle\n", a__z_py="needle", a_py="no\nNeedle\n", a__b__c_py="needle")

    assert await grep("needle") == "a/b/c.py:1:needle\na/z.py:1:needle\nb.py:1:needle\nb.py:3:a needle"
    assert await grep("needle", path="a", glob="z.*") == "a/z.py:1:needle"
    assert await grep("^NEEDLE$", ignore_case=True, path="a.py") == "a.py:2:Needle"


async def test_context_lines_are_told_from_matches_and_gaps_are_marked(grep: Grep, folder: Path) -> None:
    write(folder, a_py="1\n2\nneedle\n4\n5\n6\n7\nneedle\n9\nneedle\n", b_py="needle\n")

    assert await grep("needle", context=1) == (
        "a.py-2-2\na.py:3:needle\na.py-4-4\n--\na.py-7-7\na.py:8:needle\na.py-9-9\na.py:10:needle\n--\nb.py:1:needle"
    )
    assert await grep("needle", context=1, limit=1) == (
        "a.py-2-2\na.py:3:needle\na.py-4-4\n"
        "[more matches: the first 1 of 4 are shown; narrow pattern, path or glob, or raise limit]"
    )


async def test_a_literal_pattern_is_plain_text(grep: Grep, folder: Path) -> None:
    write(folder, a_py="f(x\n-v\n")

    assert await grep("f(x", literal=True) == "a.py:1:f(x"
    assert await grep("-v", literal=True) == "a.py:2:-v"


@pytest.mark.parametrize("pattern", ["f(x", "[z-a]", "(?=x)"])
async def test_an_invalid_pattern_is_an_error_that_suggests_literal(grep: Grep, pattern: str) -> None:
    with pytest.raises(ToolError, match=r"^The pattern cannot be used: \w.*\. .* set literal to true\.$"):
        await grep(pattern)


@pytest.mark.parametrize("literal", [True, False])
async def test_a_pattern_over_several_lines_is_an_error_that_asks_for_one(grep: Grep, literal: bool) -> None:
    with pytest.raises(ToolError, match=r"Search for one line of it\.$"):
        await grep("a\nb", literal=literal)


@pytest.mark.covers("R130", "T10")
async def test_more_matches_and_clipped_lines_are_told_apart(grep: Grep, folder: Path) -> None:
    write(folder, a_py="x\n" * 1_000)
    more = "[more matches: the first 100 of 1,000 are shown; narrow pattern, path or glob, or raise limit]"
    assert (await grep("x")).splitlines()[-2:] == ["a.py:100:x", more]

    write(folder, a_py=("y" * 30_000 + "x\n") * 3)
    windows = "".join(f"a.py:{line}:[column 30001] …{'y' * 150}x…\n" for line in (1, 2, 3))
    assert await grep("x") == (f"{windows}[lines clipped: 3, shown only in part, around the match]")


@pytest.mark.covers("R130", "T10")
async def test_a_result_never_grows_beyond_the_limit_for_tool_output(grep: Grep, folder: Path) -> None:
    write(folder, a_py=("x" * 450 + "\n") * 900)
    text = await grep("x", limit=900)

    assert len(text.encode()) < 51_500
    assert text.splitlines()[-1] == (
        "[more matches: the first 111 of 900 are shown; narrow pattern, path or glob, or raise limit]"
    )


async def test_the_first_matches_are_the_same_however_many_there_are(grep: Grep, folder: Path) -> None:
    write(folder, **{f"{letter}_py": "x\n" * 900 for letter in "hgfedcba"})

    assert await grep("x", limit=2) == (
        "a.py:1:x\na.py:2:x\n"
        "[more matches: the first 2 of at least 3 are shown; narrow pattern, path or glob, or raise limit]"
    )


@pytest.mark.covers("R131")
@pytest.mark.parametrize(("unit", "column"), [("a", 50_001), ("é", 50_001), ("日😀", 100_001)])
async def test_a_match_far_right_is_shown_in_a_window_with_its_column(
    grep: Grep, folder: Path, unit: str, column: int
) -> None:
    write(folder, a_txt=unit * 50_000 + "NEEDLE" + unit * 50_000 + "\n")
    before = (unit * 150)[-150:]
    after = (unit * 500)[: 500 - 150 - len("NEEDLE")]

    assert await grep("NEEDLE") == (
        f"a.txt:1:[column {column}] …{before}NEEDLE{after}…\n"
        "[lines clipped: 1, shown only in part, around the match]"
    )


@pytest.mark.covers("R062", "R134")
async def test_links_show_nothing_from_outside_and_loops_do_no_harm(grep: Grep, folder: Path) -> None:
    write(folder.parent, outside__s_rs="TOKEN\n")
    write(folder, a__x_rs="TOKEN\n")
    (folder / "l.rs").symlink_to(folder.parent / "outside/s.rs")
    (folder / "far").symlink_to(folder.parent / "outside")
    (folder / "a/loop").symlink_to("..")
    (folder / "self").symlink_to("self")
    (folder / "broken").symlink_to("nowhere")

    assert await grep("TOKEN") == "a/x.rs:1:TOKEN"


@pytest.mark.covers("R133")
@pytest.mark.parametrize("glob", [{}, {"glob": "*.ts"}, {"glob": "**/*.ts"}])
async def test_what_git_ignores_is_not_searched(grep: Grep, folder: Path, glob: dict[str, str]) -> None:
    write(folder, dotfiles__ignore="build/\n*.log.ts\n", _hidden__x_ts="x", b_ts="x")
    write(folder, build__x_ts="x", keep__a_log_ts="x", a_log_ts="x")
    (folder / ".gitignore").symlink_to("dotfiles/ignore")
    (folder / "keep/.gitignore").write_text("!a.log.ts\n")
    found = ".hidden/x.ts:1:x\nb.ts:1:x\nkeep/a.log.ts:1:x"

    assert await grep("^x", **glob) == found
    assert await grep("^x", path="build", **glob) == "build/x.ts:1:x"
    write(folder, _git__x_ts="x")
    assert await grep("^x", **glob) == found


@pytest.mark.covers("R044")
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_text_in_utf_16_with_a_mark_is_searched(grep: Grep, folder: Path, encoding: str) -> None:
    (folder / "a.txt").write_bytes("\ufeffone\r\nzwei größe\r\n".encode(encoding))

    assert await grep("größe$") == "a.txt:2:zwei größe"


async def test_invalid_bytes_become_replacement_characters(grep: Grep, folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"caf\xe9 needle\0x\n".replace(b"\0", b""))

    assert await grep("needle") == "a.txt:1:caf\ufffd needlex"


async def test_binary_files_are_left_out(grep: Grep, folder: Path) -> None:
    (folder / "at_once.bin").write_bytes(b"needle\0\n")
    (folder / "late.bin").write_bytes(b"needle\n" + b"x" * 200_000 + b"\0\n")
    write(folder, b_txt="needle")

    assert await grep("needle") == "b.txt:1:needle\n[binary files with a match, not shown: 1]"


async def test_a_binary_file_that_is_named_says_that_it_matches(grep: Grep, folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"needle\0\n")

    assert await grep("needle", path="a.bin") == (
        "No matches for 'needle' in a.bin.\n[binary files with a match, not shown: 1]"
    )


@pytest.mark.covers("R137")
@pytest.mark.parametrize("pattern", ["SECRET", "absent"])
async def test_protected_files_are_counted_whatever_they_hold(
    context: ToolContext, folder: Path, pattern: str
) -> None:
    grep = await asyncio.to_thread(Grep, context, folder, protected=(".env", "id_rsa", "**/private/**"))
    write(folder, _env="SECRET=1", sub__id_rsa="", private__a_txt="SECRET", a_txt="SECRET\n")
    (folder / "sub/ID_RSA").write_text("SECRET")
    found = "a.txt:1:SECRET" if pattern == "SECRET" else "No matches for 'absent'."

    assert await grep(pattern) == f"{found}\n[3 protected files were skipped]"
    assert await grep(pattern, path=".env") == (
        f"No matches for '{pattern}' in .env.\n[1 protected file was skipped]"
    )
    assert await grep(pattern, glob="*.txt", path="a.txt") == found.replace("'.", "' in a.txt.")


@pytest.mark.covers("R137")
async def test_exceptions_from_the_protected_files_are_searched(context: ToolContext, folder: Path) -> None:
    write(folder, _env_local="SECRET", _env_example="SECRET=")
    grep = await asyncio.to_thread(Grep, context, folder, protected=(".env.*", "!*.example"))

    assert await grep("SECRET") == ".env.example:1:SECRET=\n[1 protected file was skipped]"


@pytest.mark.covers("R137")
async def test_a_link_to_a_protected_file_gives_nothing_either(context: ToolContext, folder: Path) -> None:
    write(folder, _env="SECRET=1")
    (folder / "link").symlink_to(".env")

    grep = await asyncio.to_thread(Grep, context, folder, protected=(".env",))

    assert await grep("SECRET", path="link") == (
        "No matches for 'SECRET' in .env.\n[1 protected file was skipped]"
    )


@pytest.mark.covers("R067")
@given(
    names=st.sets(
        st.text("aB :-é'\"$*{,[(#~\\", min_size=1, max_size=6).filter(lambda name: "\\" not in name),
        max_size=5,
    )
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.slow
def test_every_printed_path_is_accepted_as_printed(
    context: ToolContext, tmp_path_factory: pytest.TempPathFactory, names: set[str]
) -> None:
    folders = [tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")]
    for folder in folders:
        for name in names:
            (folder / name).write_text("NEEDLE")
    grep = Grep(context, *folders)

    async def story() -> None:
        lines = (await grep("NEEDLE")).splitlines() if names else []
        paths = [line.removesuffix(":1:NEEDLE") for line in lines]
        assert len(paths) == 2 * len(names)
        assert [await grep("NEEDLE", path=path) for path in paths] == lines

    asyncio.run(story())


async def test_all_folders_of_the_workspace_are_searched_once(context: ToolContext, tmp_path: Path) -> None:
    write(tmp_path, one__a_py="x", one__inner__b_py="x", two__c_py="x")
    grep = await asyncio.to_thread(Grep, context, tmp_path / "one", tmp_path / "two", tmp_path / "one/inner")

    assert (await grep("x")).count(":1:x") == 3


async def test_a_path_that_is_not_there_is_a_clear_error(grep: Grep, folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    with pytest.raises(ToolError, match=r"^There is no file or folder 'nope'\."):
        await grep("x", path="nope")
    with pytest.raises(ToolError, match=r"^'pipe' is neither a file nor a folder\.$"):
        await grep("x", path="pipe")


def test_a_call_reads_what_it_searches(context: ToolContext, tmp_path: Path) -> None:
    write(tmp_path, ws__src__a_py="", two__b_py="")
    (tmp_path / "ws/link").symlink_to("src")
    tool = Grep(context, tmp_path / "ws", tmp_path / "two").tool
    real = os.path.realpath(tmp_path)
    named, everywhere = tool.bind({"pattern": "a\nb", "path": "link"}), tool.bind({"pattern": "x"})

    assert named.footprint == Footprint(reads=(Touch(f"{real}/ws/src", subtree=True),))
    assert named.locations == (Location(f"{real}/ws/src"),)
    assert named.title == "Search 'a\\nb' in src"
    assert everywhere.footprint == Footprint(
        reads=(Touch(f"{real}/ws", subtree=True), Touch(f"{real}/two", subtree=True))
    )
    assert everywhere.locations == ()


@pytest.mark.covers("T5")
def test_every_violation_is_named(context: ToolContext, folder: Path) -> None:
    with pytest.raises(InvalidArguments) as refused:
        Grep(context, folder).tool.bind({"pattern": "", "limit": 0, "context": -1, "where": "x"})

    assert [violation.path for violation in refused.value.violations] == [
        "pattern",
        "context",
        "limit",
        "where",
    ]


@pytest.fixture
def stuck(folder: Path, tmp_path: Path) -> Callable[[float], GrepTool]:
    """Searches with a program that writes its pid into `pid`, finds one line, and never ends."""
    program = tmp_path / "rg"
    program.write_text(
        f"#!/bin/sh\necho $$ > '{tmp_path}/pid'\nprintf '{folder}/a\\0001:1:x\\n'\nexec sleep 60\n"
    )
    program.chmod(0o755)
    workspace = Workspace([folder])

    def grep_within(limit: float) -> GrepTool:
        return GrepTool(workspace, Ripgrep(os.environ, limit=limit, find=lambda: str(program)))

    return grep_within


async def test_a_search_that_takes_too_long_is_ended_and_says_so(
    stuck: Callable[[float], GrepTool], context: ToolContext, tmp_path: Path
) -> None:
    result = await stuck(0.3).bind({"pattern": "x"}).execute(context)

    assert text_of(result.content) == (
        "a:1:x\n"
        "[more matches: the first 1 of at least 1 are shown; narrow pattern, path or glob, or raise limit]\n"
        "[the search took too long and was ended; its result is not complete. Narrow path or glob]"
    )
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


async def test_a_cancelled_search_leaves_no_process(
    stuck: Callable[[float], GrepTool], context: ToolContext, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pid")
    call = asyncio.ensure_future(stuck(60).bind({"pattern": "x"}).execute(context))
    async with asyncio.timeout(5):
        pid = await asyncio.to_thread((tmp_path / "pid").read_text)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert not Path(f"/proc/{pid.strip()}").exists()


def test_the_program_is_the_one_of_the_installed_distribution() -> None:
    assert Path(find_ripgrep()).name in {"rg", "rg.exe"}


@given(st.integers(1, 40), st.integers(1, 9))
def test_output_is_read_alike_in_pieces_of_any_size(size: int, lines: int) -> None:
    raw = b"".join(
        b"/w/a%d\0%d:4:0\xc3\xa9x\r\n/w/a%d\0%d-0-context:1:2\n" % (n, n, n, n + 1)
        for n in range(1, lines + 1)
    )
    raw += b'/w/a1: WARNING: stopped searching binary file after match (found "\\0" byte around offset 9)\n'
    reader = MatchReader(lambda path: True, 100)
    for start in range(0, len(raw), size):
        reader.feed(raw[start : start + size])
    reader.finish()

    assert reader.lines() == [
        line
        for n in range(2, lines + 1)
        for line in (
            FoundLine(f"/w/a{n}", n, 3, "0éx", clipped=False),
            FoundLine(f"/w/a{n}", n + 1, None, "0-context:1:2", clipped=False),
        )
    ]
    assert reader.binary == 1


@pytest.mark.covers("R305")
async def test_what_the_program_prints_is_read_beside_the_event_loop(folder: Path) -> None:
    write(folder, a_py="needle")
    threads: list[bool] = []

    def consume(chunk: bytes) -> bool:
        threads.append(threading.current_thread() is threading.main_thread())
        return True

    await Ripgrep(child_environment(os.environ)).run(["--files", "--", str(folder)], consume)

    assert threads == [False]


@pytest.mark.covers("R305")
@pytest.mark.parametrize("glob", GLOBS)
async def test_protected_files_are_counted_by_any_glob(context: ToolContext, folder: Path, glob: str) -> None:
    names = [".env.local", "K.PEM", "sub/.ssh/id", ".aws/credentials", "a/b", "x1y2z", "a.c"]
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("needle", encoding="utf-8")
    grep = await asyncio.to_thread(Grep, context, folder, protected=(glob,))

    found = (await grep("needle")).splitlines()

    assert found[-1] == "[1 protected file was skipped]"
    assert len(found) == len(names)
