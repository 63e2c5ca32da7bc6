"""Commands in the background: how their end is told; with real processes."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.bash import Bash, file_of, said

WAITS = "until [ -e go ]; do sleep 0.01; done"


@pytest.fixture
async def bash(folder: Path) -> AsyncGenerator[Bash]:
    bash = Bash(folder)
    yield bash
    await bash.background.close()


async def last_line(bash: Bash, path: Path) -> str:
    """Of a command's output, once it has ended."""
    text, _ = said(await bash(f"until tail -n 1 '{path}' | grep '^\\[.*\\]$'; do sleep 0.01; done"))
    return text


@pytest.mark.covers("R243")
@pytest.mark.parametrize(
    ("command", "output", "end"),
    [
        ("exit 3", "", "exit code 3"),
        ("echo one; echo two >&2; exit 1", "one\ntwo\n", "exit code 1"),
        ("printf unended; exit 4", "unended\n", "exit code 4"),
        ("kill -KILL $$", "", "killed by signal SIGKILL"),
        ("echo done", "done\n", "exit code 0"),
    ],
)
async def test_an_early_end_is_told_with_its_code(bash: Bash, command: str, output: str, end: str) -> None:
    result = await bash(command, background=True)
    path = file_of(result)

    assert said(result) == (
        f"{output}[{end}]\n[it ended at once; its output is in {path}]",
        end != "exit code 0",
    )
    assert path.read_text(encoding="utf-8") == f"{output}[{end}]\n"
    assert bash.background.take() == []


@pytest.mark.covers("R243")
async def test_a_program_that_does_not_exist_is_told_at_once(bash: Bash) -> None:
    text, failed = said(await bash("no-such-program --serve", background=True))

    assert re.match(r".*no-such-program: command not found\n\[exit code 127\]\n\[it ended at once; ", text)
    assert failed


@pytest.mark.covers("R243")
@pytest.mark.parametrize(
    ("ending", "end"),
    [
        ("exit 3", "exit code 3"),
        ("printf x", "exit code 0"),
        ("kill -TERM $$", "killed by signal SIGTERM"),
        ("(sleep 0.05; echo later) & exit 5", "exit code 5"),
    ],
)
async def test_a_later_end_is_the_last_line_of_the_output_and_told_once(
    bash: Bash, folder: Path, ending: str, end: str
) -> None:
    command = f"{WAITS}; {ending}"
    result = await bash(command, background=True)
    assert result.details is not None
    pid, path = result.details["pid"], file_of(result)
    assert bash.background.take() == []

    (folder / "go").touch()

    assert await last_line(bash, path) == f"[{end}]"
    told = f"The background command with process id {pid} ({command}) has ended: {end}. "
    assert bash.background.take() == [("background", f"{told}Its output is in {path}.")]
    assert bash.background.take() == []


@pytest.mark.covers("R243")
async def test_while_something_of_it_goes_on_it_has_not_ended(bash: Bash) -> None:
    text, failed = said(await bash("sleep 60 & exit 3", background=True))

    assert (text.startswith("Started in the background with process id "), failed) == (True, False)
