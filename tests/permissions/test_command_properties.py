"""Properties of the command analysis over random lines."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.read_only import is_read_only
from pilothouse_agent.permissions.shell.commands import CommandLine, analyse
from pilothouse_agent.permissions.shell.script import SimpleCommand
from support.judging import command, pipeline, verdict
from support.shell_lines import any_text, damaged, lines

DENIED = "rm -rf b"
LOOKING = ("ls", "cat a", "git status", "grep -n x a", "sort a", "true")
RECORDED = ("alpha", "beta a", "alpha 'q r' *", "'be'ta \"$x\"", "\\alpha b{c,d}", '"beta" ~', "$alpha")
DENY = pipeline({"commands": {"*": "allow", "rm -rf": "deny"}}, mode=ApprovalMode.ALL)


@pytest.mark.slow
@pytest.mark.covers("R068")
@given(line=lines([*LOOKING, DENIED, DENIED]))
@settings(max_examples=150, deadline=None)
def test_a_line_with_a_denied_command_anywhere_is_denied(line: str) -> None:
    assert verdict(DENY, line) == {line: "deny" if DENIED in line else "allow"}


@pytest.mark.slow
@given(line=lines(LOOKING), target=st.sampled_from(["f", "'a b'", "$x", "/dev/sdx", "a/../b"]))
@settings(max_examples=100, deadline=None)
def test_no_line_that_writes_to_a_file_is_read_only(line: str, target: str) -> None:
    for operator in (">", ">>", ">|", "&>", "2>", "<>"):
        assert not is_read_only(f"{line} {operator} {target}")
        assert not is_read_only(f"ls {operator}{target}; {line}")


@pytest.mark.slow
@pytest.mark.covers("R070")
@given(text=any_text() | damaged(lines(RECORDED)))
@example("$(" * 500)
@example("((" * 500)
@example("{ " * 500)
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_judged(text: str) -> None:
    analyse(text)
    assert DENY.judge(command(text)).decision in ("allow", "deny")
    assert not (is_read_only(text) and analyse(text).doubts)


@pytest.mark.covers("R068", "R070")
@pytest.mark.slow
def test_whatever_the_real_shell_runs_was_found_or_doubted() -> None:
    with _Stage() as stage:

        @given(line=damaged(lines(RECORDED)))
        @settings(max_examples=120, deadline=None, database=None)
        def check(line: str) -> None:
            found = analyse(line)
            if found.doubts or "\0" in line:
                return
            missed = [argv for argv in stage.runs(line) if not _is_found(argv, found)]
            assert missed == []

        check()


def _is_found(argv: list[str], line: CommandLine) -> bool:
    return any(command.program == argv[0] and _fits(argv[1:], command) for command in line.commands)


def _fits(arguments: list[str], command: SimpleCommand) -> bool:
    """Whether all words that are known stand among the arguments, in this order."""
    rest = iter(arguments)
    known = [word.text for word in command.words[1:] if word.kind == "literal" and word.text != "~"]
    exact = all(word.kind == "literal" for word in command.words)
    return all(word in rest for word in known) and (not exact or len(arguments) == len(command.words) - 1)


class _Stage:
    """A shell that can run nothing but programs which write down how they were called."""

    def __enter__(self) -> _Stage:
        self._folder = Path(tempfile.mkdtemp())
        self._bin = self._folder / "bin"
        self._bin.mkdir()
        for name in ("alpha", "beta"):
            (self._bin / name).write_text(
                '#!/bin/sh\nprintf \'%s\\037\' "${0##*/}" "$@" \'|END|\' >> "$LOG"\n', encoding="utf-8"
            )
            (self._bin / name).chmod(0o755)
        for name in ("env", "nohup", "timeout", "xargs"):
            (self._bin / name).symlink_to(shutil.which(name) or "/nowhere")
        return self

    def __exit__(self, *exc_info: object) -> None:
        shutil.rmtree(self._folder)

    def runs(self, line: str) -> Iterator[list[str]]:
        with self._place() as place:
            log = place.with_suffix(".log")
            log.touch()
            self._run(line, place, log)
            calls = log.read_text(encoding="utf-8", errors="replace").split("|END|\037")
        return (call.split("\037")[:-1] for call in calls if call)

    @contextmanager
    def _place(self) -> Generator[Path]:
        place = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _run(self, line: str, place: Path, log: Path) -> None:
        shell = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile", "-c", line],
            cwd=place,
            env={"PATH": str(self._bin), "LOG": str(log)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            shell.wait(5)
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
