"""`pilothouse sessions`, and runs that go on with a session, as real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.wire_models import Turn
from support.wire_run import settled_home

pytestmark = [pytest.mark.slow, pytest.mark.covers("J10", "J12")]

Json: TypeAlias = dict[str, Any]


class Shell:
    """Somebody at a command line, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cwd = folder / "project"
        self.cwd.mkdir()

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "pilothouse_cli.main", *arguments],
            cwd=self.cwd,
            env=settled_home(self.folder / "home"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=40,
        )
        return ended.returncode, ended.stdout, ended.stderr

    def run(self, *arguments: str, turns: list[Turn]) -> str:
        script = self.folder / "script.json"
        script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
        code, output, errors = self("run", "--quiet", "--model", f"scripted/{script}", *arguments)
        assert code == 0, errors
        return output

    def json(self, *arguments: str) -> Json:
        code, output, errors = self("sessions", *arguments, "--json")
        assert code == 0, errors
        return json.loads(output)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_run_goes_on_with_the_last_session_of_the_folder_or_with_one_that_is_named(shell: Shell) -> None:
    shell.run("My name is Ada", turns=[{"text": "Hello Ada."}])
    remembered: Turn = {"text": "Ada.", "expect": {"contains": ["My name is Ada", "Hello Ada."]}}
    last = shell.run("--continue", "What is my name?", turns=[remembered])
    session = shell.json("list")["sessions"][0]
    named = shell.run("--session", session["sessionId"], "And now?", turns=[remembered])

    assert (last, named) == ("Ada.\n", "Ada.\n")
    assert (session["title"], session["messages"], session["state"]) == ("My name is Ada", 4, "idle")
    assert len(shell.json("list", "--all")["sessions"]) == 1


def test_sessions_are_shown_searched_exported_and_deleted(shell: Shell) -> None:
    shell.run('Say "grün"', turns=[{"text": "grün <b>"}])
    (session,) = shell.json("list")["sessions"]
    session_id = session["sessionId"]
    listed = shell("sessions", "list")[1]
    found = shell.json("grep", 'SAY "grün"')["sessions"]
    shown = shell("sessions", "show", session_id)[1]
    shell("sessions", "export", session_id, "--out", str(shell.folder / "out.md"))
    deleted = shell("sessions", "delete", session_id)

    assert listed == f'{session_id}  {session["updated"][:16]}  Say "grün"\n'
    assert [(entry["sessionId"], entry["matches"]) for entry in found] == [(session_id, 3)]
    assert shown.splitlines()[4:] == ["## You", "", 'Say "grün"', "", "## Pilothouse", "", "grün <b>"]
    assert (shell.folder / "out.md").read_text(encoding="utf-8") == shown
    assert (deleted, shell.json("list")) == ((0, "", ""), {"sessions": []})


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["sessions", "show", "session_x"],
            1,
            "there is no session 'session_x'; see pilothouse sessions list",
        ),
        (["sessions", "delete", "../../x"], 1, "there is no session '../../x'"),
        (["sessions", "grep", "x"], 1, "there are no sessions yet"),
        (["sessions", "list"], 0, "none here; --all shows those of every folder"),
        (["sessions"], 2, "the following arguments are required: COMMAND"),
        (["run", "--continue", "Hi"], 1, "There is no session in"),
        (["run", "--session", "session_x", "Hi"], 1, "There is no session 'session_x'"),
        (["run", "--session", "session_x", "--continue", "Hi"], 2, "not allowed with --session"),
    ],
)
def test_what_is_not_there_is_said(shell: Shell, arguments: list[str], code: int, words: str) -> None:
    ended = shell(*arguments)

    assert (ended[0], words in ended[2]) == (code, True), ended
