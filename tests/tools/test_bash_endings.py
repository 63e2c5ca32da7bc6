"""How commands end, or are ended, and what is left of them; with real processes."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from pilothouse_agent.kernel.tooling import InvalidArguments, ToolError
from pilothouse_agent.tools.shell.child import Program, RunningProcess, spawn_process
from support.bash import Bash, Watched, file_of, pids, runs, said


@pytest.fixture
def bash(folder: Path) -> Bash:
    return Bash(folder)


@pytest.mark.covers("R113", "K116")
async def test_a_timeout_ends_the_group_and_keeps_the_output(bash: Bash) -> None:
    text, failed = said(await bash("sleep 60 & echo part pid $$ pid $!; wait", timeout=0.2))

    assert re.sub(r"\d+", "N", text) == (
        "part pid N pid N\n[timed out after N.N s and was stopped; a longer `timeout` may be given]"
    )
    assert failed
    assert [runs(pid) for pid in pids(text)] == [False, False]


@pytest.mark.slow
@pytest.mark.covers("K116")
async def test_a_command_that_ignores_the_request_to_end_is_killed(bash: Bash) -> None:
    text, failed = said(await bash("trap '' TERM; echo pid $$; while :; do sleep 0.01; done", timeout=0.1))

    assert (failed, [runs(pid) for pid in pids(text)]) == (True, [False])


@pytest.mark.covers("R113", "K117")
@pytest.mark.parametrize("timeout", [0, -1, math.inf, math.nan, "inf"])
def test_a_timeout_that_is_no_time_is_refused(bash: Bash, timeout: float) -> None:
    with pytest.raises(InvalidArguments) as refused:
        bash.tool.bind({"command": "true", "timeout": timeout})

    assert [violation.path for violation in refused.value.violations] == ["timeout"]


@pytest.mark.covers("R113")
async def test_a_timeout_beyond_the_limit_is_cut_down_with_a_note(bash: Bash) -> None:
    assert said(await bash("echo x", timeout=10**9)) == (
        "x\n[timeout was cut down to its upper limit of 3600 s]",
        False,
    )


@pytest.mark.covers("R115", "K118")
async def test_an_abort_ends_grandchildren_and_keeps_the_output(bash: Bash, folder: Path) -> None:
    context = Watched()
    call = asyncio.ensure_future(
        bash("(sleep 60; touch done) & echo pid $$ pid $! ready; wait; touch done", context)
    )
    await context.until("ready")
    context.signal.set()
    call.cancel()
    with pytest.raises(ToolError) as aborted:
        await call
    text = str(aborted.value)

    assert re.sub(r"\d+", "N", text) == (
        "pid N pid N ready\n"
        "[aborted: the command and all it had started were stopped; its effects so far remain]"
    )
    assert [runs(pid) for pid in pids(text)] == [False, False]
    assert list(folder.iterdir()) == []


@pytest.mark.covers("K118")
async def test_the_abort_alone_ends_the_command_too(bash: Bash) -> None:
    context = Watched()
    call = asyncio.ensure_future(bash("echo pid $$ ready; sleep 60", context))
    await context.until("ready")
    context.signal.set()
    with pytest.raises(ToolError, match="aborted"):
        await call

    assert [runs(pid) for pid in pids(context.seen)] == [False]


async def test_a_cancelled_call_leaves_no_process(bash: Bash) -> None:
    context = Watched()
    call = asyncio.ensure_future(bash("sleep 60 & echo pid $$ pid $! ready; wait", context))
    await context.until("ready")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert [runs(pid) for pid in pids(context.seen)] == [False, False]


async def test_a_call_cancelled_while_its_process_starts_leaves_none(folder: Path) -> None:
    started: list[RunningProcess] = []
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(program: Program, *, output: int, errors: int) -> RunningProcess:
        started.append(await spawn_process(program, output=output, errors=errors))
        entered.set()
        await go_on.wait()
        return started[0]

    call = asyncio.ensure_future(Bash(folder, spawn=slowly)("sleep 60"))
    async with asyncio.timeout(5):
        await entered.wait()
        call.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert [runs(process.pid) for process in started] == [False]


@pytest.mark.slow
@pytest.mark.covers("R109", "K119")
@pytest.mark.parametrize("child", ["sleep 60 &", "(exec sleep 60) </dev/null >/dev/null 2>&1 &"])
async def test_a_silent_background_child_neither_holds_the_call_nor_survives_it(
    bash: Bash, child: str
) -> None:
    text, failed = said(await bash(f"{child} echo hi pid $!"))

    assert re.sub(r"\d+", "N", text) == (
        "hi pid N\n[processes it had left in the background were stopped; use `background` to keep one]"
    )
    assert (failed, [runs(pid) for pid in pids(text)]) == (False, [False])


@pytest.mark.slow
@pytest.mark.covers("R110")
async def test_a_noisy_background_child_neither_holds_the_call_nor_survives_it(bash: Bash) -> None:
    text, failed = said(
        await bash("(while :; do echo t; sleep 0.01; done) & echo pid $!; sleep 0.1; echo fg")
    )

    assert ("\nfg\n" in text, failed, [runs(pid) for pid in pids(text)]) == (True, False, [False])


@pytest.mark.slow
@pytest.mark.covers("R112")
async def test_a_process_that_can_never_be_collected_does_not_hold_the_call(folder: Path) -> None:
    @dataclass
    class Unending:
        pid: int

        async def wait(self) -> int:
            await asyncio.Event().wait()
            return 0

    async def spawn(program: Program, *, output: int, errors: int) -> Unending:
        process = await spawn_process(program, output=output, errors=errors)
        return Unending(process.pid)

    assert said(await Bash(folder, spawn=spawn)("sleep 60", timeout=0.1)) == (
        "(no output)\n[timed out after 0.1 s and could not be stopped; it may still be running]",
        True,
    )


async def test_eight_commands_run_at_the_same_time(bash: Bash) -> None:
    meet = "touch $$; until [ $(ls | wc -l) -ge 8 ]; do sleep 0.01; done"
    results = await asyncio.gather(*(bash(meet, timeout=5) for _ in range(8)))

    assert [said(result) for result in results] == [("(no output)", False)] * 8


async def test_a_background_command_goes_on_after_its_call_until_the_session_ends(
    bash: Bash, folder: Path
) -> None:
    result = await bash("echo up > up; echo printed; sleep 60", background=True)
    assert result.details is not None
    pid, path = result.details["pid"], file_of(result)
    assert isinstance(pid, int)
    text = f"Started in the background with process id {pid}; it runs until it ends or the session does. "

    assert said(result) == (
        f"{text}Its output goes to {path}. To stop it with all it has started: kill -- -{pid}",
        False,
    )
    assert said(await bash(f"until [ -s up ] && [ -s '{path}' ]; do sleep 0.01; done; cat '{path}'")) == (
        "printed",
        False,
    )
    assert runs(pid)
    await bash.background.close()
    assert not runs(pid)
    with pytest.raises(ToolError, match=r"^The session is ending; "):
        await bash("true", background=True)
