"""What commands print, get and come back with; with real processes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from pilothouse_agent.kernel.tooling import Footprint, InvalidArguments, Preview, ToolError, Touch, Violation
from pilothouse_agent.tools.shell.environment import child_environment
from support.bash import Bash, NoPlan, Watched, file_of, said


@pytest.fixture
def bash(folder: Path) -> Bash:
    return Bash(folder)


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


@pytest.fixture
def waiting_input() -> Generator[int]:
    """Our own input is a pipe with a line in it and more to come; gives its reading end."""
    reading, writing = os.pipe()
    os.write(writing, b"ours\n")
    own = os.dup(0)
    os.dup2(reading, 0)
    yield reading
    os.dup2(own, 0)
    for descriptor in (own, reading, writing):
        os.close(descriptor)


@pytest.mark.covers("R118", "R119")
async def test_a_command_shares_neither_our_input_nor_our_output(
    bash: Bash, capfd: pytest.CaptureFixture[str], waiting_input: int
) -> None:
    assert said(await bash("cat; echo OUT; echo ERR >&2", timeout=2)) == ("OUT\nERR", False)
    assert tuple(capfd.readouterr()) == ("", "")
    assert os.read(waiting_input, 100) == b"ours\n"


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
@pytest.mark.covers("R245")
async def test_without_its_folder_a_command_runs_in_the_nearest_one_and_says_so(tmp_path: Path) -> None:
    project = tmp_path / "gone" / "project"
    project.mkdir(parents=True)
    bash = Bash(project)
    project.parent.rename(tmp_path / "elsewhere")

    note = f"[the working folder {project} does not exist any more, so this ran in {tmp_path}]"
    assert said(await bash("pwd")) == (f"{tmp_path}\n{note}", False)
    assert said(await bash("echo err; exit 3")) == (f"err\n[exit code 3]\n{note}", True)
    text, _ = said(await bash("sleep 60", background=True))
    assert text.endswith(f"\n{note}")
    await bash.background.close()


@pytest.mark.covers("R245")
def test_where_a_command_runs_instead_of_its_folder_is_judged(tmp_path: Path) -> None:
    project = tmp_path / "project"
    tool = Bash(project, read_only=lambda command: command == "ls").tool
    around = (Touch(str(tmp_path), subtree=True),)

    assert tool.bind({"command": "rm *"}).footprint == Footprint(extent="touchesEverything", writes=around)
    assert tool.bind({"command": "ls"}).footprint == Footprint(extent="readsEverything", reads=around)


async def test_a_folder_that_goes_between_the_question_and_the_command_is_a_clear_error(
    bash: Bash, folder: Path
) -> None:
    call = await bash.bind("rm *")
    folder.rmdir()

    with pytest.raises(ToolError, match=r"^The working folder .* does not exist\. "):
        await call.execute(Watched())


async def test_a_command_too_long_for_the_system_is_a_clear_error(bash: Bash) -> None:
    with pytest.raises(ToolError, match=r"^The command is too long for this system\. "):
        await bash("true " + "x" * 3_000_000)


def test_a_command_with_a_nul_is_refused(bash: Bash) -> None:
    with pytest.raises(InvalidArguments) as refused:
        bash.tool.bind({"command": "echo \0"})

    assert refused.value.violations == (
        Violation("command", "holds a NUL character, which no command can have; write it as an escape"),
    )


@pytest.mark.covers("R088", "R089")
async def test_the_command_is_shown_with_escapes_and_run_as_it_is(bash: Bash) -> None:
    call = await bash.bind("echo a\u200bb\r\x1b[2K\necho c")

    assert call.title == "Run echo a\\u200bb\\r\\x1b[2K\\necho c"
    assert call.command == "echo a\u200bb\r\x1b[2K\necho c"
    assert await call.preview(NoPlan()) == Preview(command="echo a\\u200bb\\r\\x1b[2K\necho c")


@pytest.mark.covers("R089")
async def test_a_long_command_is_cut_in_the_title_with_a_marker_and_previewed_whole(bash: Bash) -> None:
    call = await bash.bind("x" * 10_000)

    assert call.title == "Run " + "x" * 200 + " … (9,800 more characters)"
    assert await call.preview(NoPlan()) == Preview(command="x" * 10_000)


def test_a_command_touches_everything_unless_it_is_known_to_only_read(folder: Path) -> None:
    tool = Bash(folder, read_only=lambda command: command == "ls").tool
    reading = tool.bind({"command": "ls"})

    assert tool.bind({"command": "rm x"}).footprint == Footprint(extent="touchesEverything")
    assert reading.footprint == Footprint(extent="readsEverything")
