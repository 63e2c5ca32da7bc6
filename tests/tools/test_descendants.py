"""What a command has started is found and ended, or named, wherever it has gone; with real processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pilothouse_agent.kernel.tooling import ToolError
from support.bash import Bash, Watched, runs, said
from support.daemons import DAEMONS, STUBBORN, pid_in

pytestmark = pytest.mark.slow


@pytest.fixture
async def bash(folder: Path) -> AsyncGenerator[Bash]:
    bash = Bash(folder)
    yield bash
    await bash.tool.shell.close()


@pytest.mark.covers("R244")
@pytest.mark.parametrize("start", DAEMONS.values(), ids=DAEMONS)
async def test_at_a_timeout_what_has_left_the_group_is_ended_too(
    bash: Bash, folder: Path, start: str
) -> None:
    text, _ = said(await bash(f"{start}; echo up; sleep 60", timeout=1.5))

    assert text == "up\n[timed out after 1.5 s and was stopped; a longer `timeout` may be given]"
    assert not runs(pid_in(folder))


@pytest.mark.covers("R244")
@pytest.mark.parametrize("start", DAEMONS.values(), ids=DAEMONS)
async def test_at_an_abort_what_has_left_the_group_is_ended_too(bash: Bash, folder: Path, start: str) -> None:
    context = Watched()
    running = asyncio.create_task(bash(f"{start}; echo up; sleep 60", context))
    await context.until("up")

    context.signal.set()
    running.cancel()

    with pytest.raises(ToolError, match="aborted: the command and all it had started were stopped"):
        await running
    assert not runs(pid_in(folder))


@pytest.mark.covers("R244")
@pytest.mark.parametrize("start", DAEMONS.values(), ids=DAEMONS)
async def test_at_the_normal_end_it_is_named_and_ended_with_the_session(
    bash: Bash, folder: Path, start: str
) -> None:
    text, failed = said(await bash(start))
    pid = pid_in(folder)

    note = f"it left running, in sessions of their own: {pid} (sleep 300); "
    note += "they are stopped when the session ends"
    assert (text, failed, runs(pid)) == (f"(no output)\n[{note}]", False, True)
    await bash.tool.shell.close()
    assert not runs(pid)


@pytest.mark.covers("R244")
@pytest.mark.parametrize("start", DAEMONS.values(), ids=DAEMONS)
async def test_what_a_background_command_has_started_is_ended_with_the_session(
    bash: Bash, folder: Path, start: str
) -> None:
    await bash(f"{start}; sleep 60", background=True)
    await bash("until [ -e pid ]; do sleep 0.01; done")

    await bash.background.close()

    assert not runs(pid_in(folder))


@pytest.mark.covers("R244")
async def test_one_that_ignores_the_request_to_end_is_killed(bash: Bash, folder: Path) -> None:
    await bash(f"{STUBBORN}; sleep 60", timeout=1.0)

    assert not runs(pid_in(folder))


@pytest.mark.covers("R244")
async def test_what_others_have_started_is_left_alone(bash: Bash, folder: Path) -> None:
    other = Bash(folder)
    await other(DAEMONS["forked twice"])
    pid = pid_in(folder)

    text, _ = said(await bash("echo up; sleep 60", timeout=0.2))

    assert (text.startswith("up\n[timed out"), runs(pid)) == (True, True)
    await other.tool.shell.close()
    assert not runs(pid)
