"""The bash tool, with real processes."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.tooling import (
    Footprint,
    InvalidArguments,
    Preview,
    ToolError,
    ToolResult,
    Violation,
)
from pilothouse_agent.tools.background import BackgroundProcesses
from pilothouse_agent.tools.bash import BashTool
from pilothouse_agent.tools.child import Program, RunningProcess, Spawn, spawn_process
from pilothouse_agent.tools.environment import child_environment
from pilothouse_agent.tools.output import OutputLimits
from pilothouse_agent.tools.shell import Shell
from support.context import RecordingContext


class Watched(RecordingContext):
    """A context whose progress can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    @property
    def seen(self) -> str:
        return "".join(self.progress_texts)

    def progress(self, text: str) -> None:
        super().progress(text)
        self._changed.set()

    async def until(self, text: str) -> None:
        async with asyncio.timeout(5):
            while text not in self.seen:
                self._changed.clear()
                await self._changed.wait()


class NoPlan:
    """Planned files of a batch that has no other calls."""

    uncertain = False

    def mark_uncertain(self) -> None:
        raise NotImplementedError

    async def text(self, path: str) -> None:
        raise NotImplementedError

    def put(self, path: str, text: str | None) -> None:
        raise NotImplementedError


class Bash:
    """The tool in a folder, and a short way to call it."""

    def __init__(
        self,
        folder: Path,
        *,
        environment: dict[str, str] | None = None,
        name: str = "bash",
        spawn: Spawn = spawn_process,
        limits: OutputLimits | None = None,
        read_only: Callable[[str], bool] = lambda command: False,
    ) -> None:
        self.outputs = folder.parent / "outputs"
        shell = Shell(str(folder), environment or child_environment(os.environ), name=name, spawn=spawn)
        self.background = BackgroundProcesses(shell, self.outputs)
        self.tool = BashTool(shell, self.background, self.outputs, limits=limits, read_only=read_only)

    async def __call__(
        self, command: str, context: Watched | None = None, **arguments: bool | float
    ) -> ToolResult:
        bound: JsonObject = {"command": command, **arguments}
        async with asyncio.timeout(10):
            return await self.tool.bind(bound).execute(context or Watched())


@pytest.fixture
def bash(folder: Path) -> Bash:
    return Bash(folder)


def said(result: ToolResult) -> tuple[str, bool]:
    return text_of(result.content), result.is_error


def file_of(result: ToolResult) -> Path:
    assert result.details is not None
    return Path(str(result.details["outputFile"]))


def runs(pid: int) -> bool:
    """Zombies that nobody collects do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pids(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"pid (\d+)", text)]


@pytest.mark.covers("R116")
async def test_both_streams_are_read_together_and_kept_whole(bash: Bash) -> None:
    result = await bash("yes e | head -c 300000 >&2; echo ok")
    text, failed = said(result)

    assert (text.endswith("\ne\nok"), failed) == (True, False)
    assert file_of(result).read_text() == "e\n" * 150_000 + "ok\n"


@pytest.mark.covers("K114")
async def test_a_failing_command_is_an_error_with_its_output_and_code(bash: Bash) -> None:
    result = await bash("echo out; echo err >&2; exit 3")

    assert said(result) == ("out\nerr\n[exit code 3]", True)
    assert result.details == {"exitCode": 3, "cause": "exited", "outputFile": None}


@pytest.mark.covers("K115")
@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("kill -KILL $$", "killed by signal SIGKILL"),
        ("bash -c 'kill -KILL $$'; exit $?", "exit code 137: a process of it was killed by SIGKILL"),
    ],
)
async def test_a_killed_command_is_a_failure_that_names_the_signal(
    bash: Bash, command: str, note: str
) -> None:
    text, failed = said(await bash(command))

    assert (text.endswith(f"[{note}]"), failed) == (True, True)


async def test_a_silent_success_says_that_there_was_no_output(bash: Bash) -> None:
    assert said(await bash("true")) == ("(no output)", False)


@pytest.mark.covers("R118", "K120")
@pytest.mark.parametrize(
    ("command", "output"),
    [("read x; echo got:$x", "got:"), ("cat; echo OUT", "OUT"), ("test -t 0 || echo none", "none")],
)
async def test_input_is_at_its_end(bash: Bash, command: str, output: str) -> None:
    assert said(await bash(command)) == (output, False)


@pytest.mark.covers("R118")
async def test_there_is_no_terminal_to_ask_on(bash: Bash) -> None:
    assert said(await bash("(echo password: > /dev/tty) 2>/dev/null || echo none")) == ("none", False)


@pytest.mark.covers("R119")
async def test_what_a_command_prints_reaches_none_of_our_own_descriptors(
    bash: Bash, capfd: pytest.CaptureFixture[str]
) -> None:
    assert said(await bash("cat; echo OUT; echo ERR >&2")) == ("OUT\nERR", False)
    assert tuple(capfd.readouterr()) == ("", "")


@pytest.mark.covers("R121", "K123")
@pytest.mark.parametrize(
    ("command", "output"),
    [(r"printf 'a\xf0b'", "a\ufffdb"), (r"printf '\xe2\x82'; sleep 0.05; printf '\xac'", "€")],
)
async def test_invalid_bytes_are_replaced_and_split_characters_stay_whole(
    bash: Bash, command: str, output: str
) -> None:
    assert said(await bash(command)) == (output, False)


@pytest.mark.covers("R122")
async def test_binary_output_becomes_text_that_survives_json(bash: Bash) -> None:
    text, failed = said(await bash("head -c 2000 /dev/urandom; echo; printf '\\0\\0x'"))

    assert (json.loads(json.dumps(text).encode()), failed) == (text, False)
    assert text.endswith("\u2400\u2400x")


@pytest.mark.covers("R125")
async def test_repaints_and_colours_leave_only_their_outcome(bash: Bash) -> None:
    command = r"printf '10%%\r50%%\r100%%\n\033[31mred\033[0m\r\n\033]0;t\007\033[?25lend'"

    assert said(await bash(command)) == ("100%\nred\nend", False)


@pytest.mark.covers("R124")
async def test_of_long_output_both_ends_are_shown_with_the_number_of_lines_between(bash: Bash) -> None:
    result = await bash("seq 5000; echo FAILED test_x; exit 1")
    path = file_of(result)
    head = "\n".join(map(str, range(1, 51)))
    tail = "\n".join(map(str, range(3002, 5001)))

    assert said(result) == (
        f"{head}\n[… 2,951 lines left out (13,757 characters); the whole output is in {path} …]\n"
        f"{tail}\nFAILED test_x\n[exit code 1]",
        True,
    )


@pytest.mark.covers("K121")
async def test_the_last_two_thousand_lines_are_shown_and_the_file_has_all(bash: Bash) -> None:
    result = await bash("seq 2500")

    assert said(result)[0].endswith("…]\n" + "\n".join(map(str, range(501, 2501))))
    assert file_of(result).read_text() == "".join(f"{number}\n" for number in range(1, 2501))


@pytest.mark.covers("K122")
@pytest.mark.parametrize("end", ["", "echo"])
async def test_one_giant_line_shows_its_end(bash: Bash, end: str) -> None:
    result = await bash(f"head -c 200000 /dev/zero | tr '\\0' x; printf END; {end}")
    text = said(result)[0]

    assert text.endswith("x" * 40_000 + "END")
    assert len(text.encode()) < 52_000
    assert file_of(result).stat().st_size == 200_003 + bool(end)


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


async def test_progress_arrives_while_the_command_runs(bash: Bash, folder: Path) -> None:
    context = Watched()
    call = asyncio.ensure_future(
        bash("echo waiting; until [ -e go ]; do sleep 0.01; done; echo went", context)
    )
    await context.until("waiting\n")
    (folder / "go").touch()

    assert said(await call) == ("waiting\nwent", False)
    assert context.seen == "waiting\nwent\n"


@pytest.mark.covers("R127")
async def test_secrets_of_the_environment_are_out_of_reach(folder: Path) -> None:
    source = {
        **os.environ,
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": "hidden",
        "GH_TOKEN": "hidden",
        "NPM_TOKEN": "named",
    }
    text, _ = said(
        await Bash(folder, environment=child_environment(source, passed=frozenset({"NPM_TOKEN"})))("env")
    )

    assert "hidden" not in text
    assert {
        "NPM_TOKEN=named",
        "LANG=C.UTF-8",
        f"PATH={os.environ['PATH']}",
        f"HOME={os.environ['HOME']}",
    } <= set(text.splitlines())


@pytest.mark.covers("R128")
async def test_no_variable_shows_up_in_a_command_line(folder: Path) -> None:
    bash = Bash(folder, environment=child_environment({**os.environ, "S": "hunter2"}))
    text, _ = said(await bash("cat /proc/$$/cmdline /proc/$PPID/cmdline | tr '\\0' ' '; echo; echo ${#S}"))

    assert ("hunter2" in text, text.splitlines()[-1]) == (False, "7")


@pytest.mark.covers("K124")
async def test_a_missing_shell_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(ToolError, match=r"^The program 'no-such-shell' was not found\. Install it"):
        await Bash(folder, name="no-such-shell")("true")


@pytest.mark.covers("K124")
async def test_a_missing_folder_is_a_clear_error(bash: Bash, folder: Path) -> None:
    folder.rmdir()
    with pytest.raises(ToolError, match=r"^The working folder .* does not exist\. "):
        await bash("true")


async def test_a_command_too_long_for_the_system_is_a_clear_error(bash: Bash) -> None:
    with pytest.raises(ToolError, match=r"^The command is too long for this system\. "):
        await bash("true " + "x" * 3_000_000)


def test_a_command_with_a_nul_is_refused(bash: Bash) -> None:
    with pytest.raises(InvalidArguments) as refused:
        bash.tool.bind({"command": "echo \0"})

    assert refused.value.violations == (
        Violation(
            "command", "Value error, holds a NUL character, which no command can have; write it as an escape"
        ),
    )


@pytest.mark.covers("R088", "R089")
async def test_the_command_is_shown_with_escapes_and_run_as_it_is(bash: Bash) -> None:
    call = bash.tool.bind({"command": "echo a\u200bb\r\x1b[2K\necho c"})

    assert call.title == "Run echo a\\u200bb\\r\\x1b[2K\\necho c"
    assert call.command == "echo a\u200bb\r\x1b[2K\necho c"
    assert await call.preview(NoPlan()) == Preview(command="echo a\\u200bb\\r\\x1b[2K\necho c")


@pytest.mark.covers("R089")
async def test_a_long_command_is_cut_in_the_title_with_a_marker_and_previewed_whole(bash: Bash) -> None:
    call = bash.tool.bind({"command": "x" * 10_000})

    assert call.title == "Run " + "x" * 200 + " … (9,800 more characters)"
    assert await call.preview(NoPlan()) == Preview(command="x" * 10_000)


def test_a_command_touches_everything_unless_it_is_known_to_only_read(folder: Path) -> None:
    tool = Bash(folder, read_only=lambda command: command == "ls").tool
    reading = tool.bind({"command": "ls"})

    assert tool.bind({"command": "rm x"}).footprint == Footprint(extent="touchesEverything")
    assert reading.footprint == Footprint(extent="readsEverything")


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
