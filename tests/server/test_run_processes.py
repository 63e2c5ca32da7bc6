"""The command as a real process with a real server: on a terminal, in a pipe, interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import support.refusing_loop
from support.rpc_peer import peer
from support.terminal import Terminal
from support.wire_models import Turn, call
from support.wire_run import settled_home

pytestmark = pytest.mark.slow

PILOTHOUSE = [sys.executable, "-P", "-m", "pilothouse_cli.main"]
STYLE = re.compile(r"\x1b\[[0-9;]*m")
STATUS = re.compile(r"[^\r\n]*\r\x1b\[K")

Command = Callable[..., list[str]]
OnTerminal = Callable[..., Terminal]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """`pilothouse run` with a model that plays these turns, in the folder `project`."""

    def made(*turns: Turn, options: tuple[str, ...] = ()) -> list[str]:
        (tmp_path / "project").mkdir()
        script = tmp_path / "play.json"
        script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
        where = ["--cwd", str(tmp_path / "project"), "--model", f"scripted/{script}"]
        return [*PILOTHOUSE, "run", *where, *options, "-m", "Hi"]

    return made


@pytest.fixture
def on_terminal(tmp_path: Path) -> Iterator[OnTerminal]:
    terminals: list[Terminal] = []

    def opened(command: list[str], *, controlling: bool = True, **variables: str) -> Terminal:
        environment = {**settled_home(tmp_path), "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables}
        environment.pop("NO_COLOR", None) if "NO_COLOR" not in variables else None
        terminals.append(Terminal(command, environment, controlling=controlling))
        return terminals[-1]

    yield opened
    for terminal in terminals:
        terminal.close()


def steady(seen: str) -> list[str]:
    """The lines that stay on the terminal, without times and colours."""
    text = STATUS.sub("", STYLE.sub("", seen)).replace("\r\n", "\n")
    return re.sub(r"\d[\d.]* ?m?s\b", "T", text).splitlines()


CALLS: Turn = {
    "text": "Let me change it.",
    "calls": [
        call("c1", "bash", command="touch made"),
        call("c2", "write_file", path="new.txt", content="one\n"),
    ],
}
NOTHING: Turn = {"text": ""}
"""An empty answer is asked for once more."""
DONE: Turn = {"text": ["All ", "done.\x1b[31m"]}


@pytest.mark.covers("P2", "R267", "R273")
def test_on_a_terminal_each_change_is_asked_and_one_key_answers(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    terminal = on_terminal(command(CALLS, DONE))
    terminal.until("›")
    terminal.type("?")
    terminal.until("›", times=2)
    terminal.type("r")
    terminal.until("›", times=3)
    terminal.type("not now\n")
    terminal.until("›", times=4)
    terminal.type("y")

    project = tmp_path / "project"
    assert (terminal.wait(), [path.name for path in project.iterdir()]) == (0, ["new.txt"])
    assert steady(terminal.seen) == [
        f"pilothouse scripted/play.json in {project}",
        "",
        "Let me change it.",
        "",
        "",
        "  $ touch made",
        "? Run touch made  medium risk",
        "  y  Allow",
        "  a  Allow for this session: exactly this command: touch made",
        "  n  Reject",
        "  r  Reject and say why",
        "  s  Reject and stop the run",
        "  › ?",
        "  Press one of the keys shown.",
        "  › r",
        "  why › not now",
        "  ⊘ Run touch made  denied",
        "",
        f"  {project}/new.txt (new file)",
        "  @@ line 1 @@",
        "  +one",
        "? Write new.txt  medium risk",
        "  y  Allow",
        "  a  Allow for this file: any edit of new.txt",
        "  b  Allow for this session: any edit of files in the workspace",
        "  n  Reject",
        "  r  Reject and say why",
        "  s  Reject and stop the run",
        "  › y",
        "  ✓ Write new.txt  +1 −0  T",
        "    +one",
        "    └ Run touch made:",
        "      Denied: not now",
        "",
        "All done.\\x1b[31m",
        "",
        "✓ completed  2 turns · 2 tool calls · T",
    ]


@pytest.mark.covers("R274")
def test_what_is_typed_during_a_run_neither_shows_nor_answers_and_the_terminal_is_given_back(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    ask: Turn = {"text": "Now", "calls": [call("c1", "bash", command="touch made")]}
    terminal = on_terminal(command({**ask, "delayMs": 300}, DONE))
    terminal.until("waiting for the model")
    assert not terminal.echoes
    terminal.type("yyyy and more\n")
    terminal.until("›")
    terminal.type("n")

    assert (terminal.wait(), list((tmp_path / "project").iterdir())) == (0, [])
    assert ("yyyy" in terminal.seen, terminal.echoes) == (False, True)


@pytest.mark.covers("R274")
@pytest.mark.parametrize(("ending", "code"), [("\x03", 130), ("\x1c", -signal.SIGQUIT)])
def test_a_terminal_is_given_back_however_the_run_ends(
    command: Command, on_terminal: OnTerminal, ending: str, code: int
) -> None:
    terminal = on_terminal(command({"text": "word ", "deltas": 2000, "delayMs": 5}))
    terminal.until("word word")
    terminal.type(ending)

    assert (terminal.wait(), terminal.echoes) == (code, True)


def test_a_run_that_is_suspended_leaves_the_terminal_as_it_was_until_it_goes_on(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    turn: Turn = {"calls": [call("c1", "bash", command="touch made")]}
    terminal = on_terminal(command(turn, DONE))
    terminal.until("›")
    terminal.type("\x1a")
    terminal.until_stopped()
    suspended = terminal.echoes
    terminal.go_on()
    terminal.until_silent()
    terminal.type("y")

    assert (terminal.wait(), [path.name for path in (tmp_path / "project").iterdir()]) == (0, ["made"])
    assert (suspended, terminal.echoes) == (True, True)


@pytest.mark.covers("R268")
def test_a_terminal_that_the_event_loop_refuses_to_watch_is_asked_all_the_same(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    turn: Turn = {"calls": [call("c1", "bash", command="touch made")]}
    _, *arguments = command(turn, DONE)
    terminal = on_terminal([sys.executable, str(support.refusing_loop.__file__), *arguments[3:]])
    terminal.until("›")
    terminal.type("y")

    assert (terminal.wait(), [path.name for path in (tmp_path / "project").iterdir()]) == (0, ["made"])


@pytest.mark.covers("R268")
def test_a_terminal_that_cannot_be_opened_is_one_sentence_and_nobody_to_ask(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    turn: Turn = {"calls": [call("c1", "bash", command="touch made")]}
    terminal = on_terminal(command(turn, NOTHING, NOTHING), controlling=False)

    assert (terminal.wait(), list((tmp_path / "project").iterdir())) == (3, [])
    assert [line for line in steady(terminal.seen) if line.startswith("pilothouse: ")] == [
        "pilothouse: nobody can be asked on this terminal: No such device or address",
        "pilothouse: 1 call was denied. --approve all allows whatever no rule denies.",
    ]


@pytest.mark.covers("R266", "R267")
def test_a_question_is_answered_on_the_terminal_also_when_text_is_piped_in(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    expected: Turn = {"expect": {"contains": ["From standard input", "+ new line"]}}
    turn: Turn = {**expected, "calls": [call("c1", "bash", command="touch made")]}
    terminal = on_terminal(["sh", "-c", 'echo "+ new line" | "$@"', "sh", *command(turn, DONE)])
    terminal.until("›")
    terminal.type("y")

    assert (terminal.wait(), [path.name for path in (tmp_path / "project").iterdir()]) == (0, ["made"])


@pytest.mark.covers("R273")
def test_a_long_question_is_cut_to_the_terminal_and_a_key_shows_the_rest(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    content = "".join(f"line {n}\n" for n in range(300))
    terminal = on_terminal(
        command({"calls": [call("c1", "write_file", path="long.txt", content=content)]}, DONE)
    )
    terminal.until("›")
    first = steady(terminal.seen)[-24:]
    terminal.type("v")
    terminal.until("›", times=2)
    whole = steady(terminal.seen)[len(first) :]
    terminal.type("y")

    assert (terminal.wait(), (tmp_path / "project" / "long.txt").read_text(encoding="utf-8")) == (0, content)
    assert ("? Write long.txt  medium risk" in first, "  v  Show all of it" in first) == (True, True)
    assert ("  +line 0" in first, "  +line 299" in first) == (True, False)
    assert [line for line in whole if line.startswith("  +line ")][-1] == "  +line 299"


@pytest.mark.covers("R273")
def test_what_the_server_has_cut_of_a_question_is_shown_by_the_same_key(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    steps = "\n".join(f"echo step {n} {'x' * 60}" for n in range(400))
    terminal = on_terminal(command({"calls": [call("c1", "bash", command=f"{steps}\ntouch made")]}, DONE))
    terminal.until("›")
    before = "touch made" in terminal.seen
    terminal.type("v")
    terminal.until("›", times=2)
    terminal.type("n")

    assert (terminal.wait(), before, "touch made" in terminal.seen) == (0, False, True)


def test_on_a_terminal_a_stop_behind_a_question_ends_the_run(
    command: Command, on_terminal: OnTerminal
) -> None:
    terminal = on_terminal(command(CALLS, DONE))
    terminal.until("›")
    terminal.type("s")

    assert terminal.wait() == 130
    assert steady(terminal.seen)[-1] == "■ stopped  1 turn · 2 tool calls · T"


@pytest.mark.covers("R016")
def test_an_end_of_input_behind_a_question_means_no(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    turn: Turn = {"calls": [call("c1", "bash", command="touch made")]}
    terminal = on_terminal(command(turn, DONE))
    terminal.until("›")
    terminal.type("\x04")

    assert (terminal.wait(), list((tmp_path / "project").iterdir())) == (0, [])
    assert "  ⊘ Run touch made  denied" in steady(terminal.seen)


@pytest.mark.covers("R079")
def test_an_interrupt_behind_a_question_withdraws_it_and_ends_the_run(
    command: Command, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    terminal = on_terminal(command(CALLS, DONE))
    terminal.until("›")
    terminal.type("\x03")

    assert (terminal.wait(), list((tmp_path / "project").iterdir())) == (130, [])


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_there_are_no_colours_where_they_are_not_wanted(
    command: Command, on_terminal: OnTerminal, variables: dict[str, str]
) -> None:
    terminal = on_terminal(command({"text": "Done."}), **variables)

    assert terminal.wait() == 0
    assert STYLE.findall(terminal.seen) == []


@pytest.mark.covers("R085")
def test_without_a_terminal_what_would_be_asked_is_refused_and_the_run_ends(
    command: Command, tmp_path: Path
) -> None:
    environment = settled_home(tmp_path)
    ended = subprocess.run(
        command(CALLS, DONE), env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=30
    )

    assert (ended.returncode, ended.stdout) == (0, b"All done.\x1b[31m\n")
    assert list((tmp_path / "project").iterdir()) == []


def test_a_reader_that_goes_away_ends_the_run_without_a_word(command: Command, tmp_path: Path) -> None:
    turn: Turn = {"text": "word ", "deltas": 2000, "delayMs": 2}
    process = subprocess.Popen(
        command(turn, options=("--json",)),
        env=settled_home(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    first = json.loads(process.stdout.readline())
    process.stdout.close()

    with process.stderr:
        assert (first["type"], process.stderr.read(), process.wait(20)) == ("agent_start", b"", 3)


def test_a_reader_that_stops_reading_does_not_hold_up_a_second_signal(tmp_path: Path) -> None:
    event: dict[str, Any] = {"type": "notice", "level": "info", "message": "x" * 3_000_000, "code": "x"}
    flood = {"send": {"method": "agent/event", "params": event}}
    server = peer(tmp_path, {"session/new": [{"answer": {"sessionId": "s"}}], "agent/prompt": [flood, flood]})
    script = (
        "import sys; from pathlib import Path;"
        "from pilothouse_cli.run.command import run_prompt;"
        "from pilothouse_cli.run.options import RunOptions;"
        f"sys.exit(run_prompt(RunOptions('Hi', Path('/'), json=True), server={server!r}))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        assert process.stdout.read(1) == b"{"
        process.send_signal(signal.SIGTERM)
        assert process.stderr.readline().startswith(b"pilothouse: stopping")
        process.send_signal(signal.SIGINT)

        assert process.wait(20) == 143


@pytest.mark.covers("R275")
def test_the_demo_shows_a_whole_run_and_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**settled_home(tmp_path), "TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    ended = subprocess.run([*PILOTHOUSE, "demo"], env=environment, capture_output=True, text=True, timeout=60)

    assert (ended.returncode, list(tmp_path.iterdir())) == (0, [])
    assert ended.stdout == (
        "`average_speed([])` raised a division by zero; it now answers 0.0 before the first leg."
        " One line of `logbook.py` changed, and all four tests pass.\n"
    )
    shown = re.sub(r"pilothouse-demo-\w+", "pilothouse-demo", "\n".join(steady(ended.stderr)))
    assert shown.splitlines()[5:] == [
        f"pilothouse scripted/script.json in {os.path.realpath(tmp_path)}/pilothouse-demo/logbook",
        "",
        "I'll look at the project and its tests first.",
        "",
        "  ▸ Find out why the test fails",
        "  ☐ Mend average_speed",
        "  ☐ Run the tests again",
        "  ✓ Read logbook.py  T",
        "  ✓ Search 'average_speed'  T",
        "  ✗ Run python3 -m unittest  T",
        "    └ ZeroDivisionError: division by zero",
        "      Ran 4 tests in T",
        "      FAILED (errors=1)",
        "      [exit code 1]",
        "",
        "The test is right: before the first leg there are no hours, and `average_speed` divides by them."
        " It should answer 0.0, as its own description says.",
        "",
        "  ☑ 1 of 3 done  ☐ Mend average_speed",
        "  ✓ Edit logbook.py  +1 −1  T",
        "    -    return distance(legs) / hours",
        "    +    return distance(legs) / hours if hours else 0.0",
        "",
        "Now the tests once more.",
        "",
        "  ☑ 2 of 3 done  ☐ Run the tests again",
        "  ✓ Run python3 -m unittest  T",
        "  ☑ 3 of 3 done",
        "✓ completed  5 turns · 9 tool calls · 16,773 tokens in · 382 tokens out · T",
        "",
        "That was a whole run: the agent read, searched, edited and tested in a sample",
        "project, which is gone again. Next, in a project and with a model of your own:",
        "",
        '  pilothouse run --model openai-chat/NAME "What does this project do?"',
    ]
