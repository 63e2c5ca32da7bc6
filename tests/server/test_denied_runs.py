"""A run in which calls were refused: what its result, standard error and exit code say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse_cli.run.denials import Denials
from support.wire_events import begins, ends, result
from support.wire_models import Turn, call
from support.wire_run import settled_home

TOUCH = call("c1", "bash", command="touch made")
WRITE = call("c2", "write_file", path="new.txt", content="x")
READ = call("c3", "glob_file", pattern="*")
DESTROY = call("c4", "bash", command="rm -rf /")

# An empty answer is asked for once more.
EMPTY: Turn = {"text": ""}
BLANK: Turn = {"text": " \n"}

ALLOW_ALL = "--approve all allows whatever no rule denies."
ALLOW_CHANGES = "--approve edits allows changes of files in the folder; "


@pytest.mark.slow
@pytest.mark.covers("R265")
@pytest.mark.parametrize(
    ("turns", "approve", "code", "denied", "hint"),
    [
        ([{"calls": [TOUCH]}, EMPTY, EMPTY], "none", 3, 1, f"1 call was denied. {ALLOW_ALL}"),
        (
            [{"calls": [WRITE]}, BLANK, BLANK],
            "none",
            3,
            1,
            f"1 call was denied. {ALLOW_CHANGES}{ALLOW_ALL}",
        ),
        ([{"calls": [TOUCH, WRITE]}, EMPTY, EMPTY], "none", 3, 2, f"2 calls were denied. {ALLOW_ALL}"),
        ([{"calls": [TOUCH]}, EMPTY, EMPTY], "edits", 3, 1, f"1 call was denied. {ALLOW_ALL}"),
        ([{"calls": [TOUCH]}, EMPTY, EMPTY], "ask", 3, 1, f"1 call was denied. {ALLOW_ALL}"),
        (
            [{"calls": [DESTROY]}, EMPTY, EMPTY],
            "all",
            3,
            1,
            "1 call was denied by a rule of the permissions.",
        ),
        ([{"calls": [TOUCH]}, {"text": "I may not."}], "none", 0, 1, f"1 call was denied. {ALLOW_ALL}"),
        ([{"calls": [TOUCH, READ]}, EMPTY, EMPTY], "none", 0, 1, f"1 call was denied. {ALLOW_ALL}"),
        ([{"calls": [TOUCH, WRITE]}, EMPTY, EMPTY], "edits", 0, 1, f"1 call was denied. {ALLOW_ALL}"),
        ([{"calls": [TOUCH]}, {"text": "Done."}], "all", 0, None, None),
    ],
)
@pytest.mark.parametrize("view", [["--json"], ["--quiet"], []])
def test_denied_calls_are_counted_said_and_no_success_when_nothing_else_came(
    turns: list[Turn],
    approve: str,
    code: int,
    denied: int | None,
    hint: str | None,
    view: list[str],
    tmp_path: Path,
) -> None:
    script, folder = tmp_path / "play.json", tmp_path / "project"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    folder.mkdir()
    where = ["--cwd", str(folder), "--model", f"scripted/{script}", "--approve", approve]
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "pilothouse_cli.main", "run", *where, *view, "Hi"],
        env=settled_home(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert ended.returncode == code
    said = [
        line for line in ended.stderr.splitlines() if "denied" in line and line.startswith("pilothouse: ")
    ]
    assert said == ([] if hint is None else [f"pilothouse: {hint}"])
    if view == ["--json"]:
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        assert [line.get("denied") for line in lines if line["type"] in ("agent_end", "result")] == [
            denied
        ] * 2


def test_a_person_who_has_said_no_is_not_told_how_to_say_yes() -> None:
    denials = Denials()
    denials.event(begins("c", "Run x", "execute"))
    denials.event(ends("c", "denied"))

    assert denials.hint(result("completed", denied=1), "ask", asked=True) is None


@pytest.mark.parametrize("outcome", ["error", "blocked", "aborted"])
def test_a_call_that_failed_is_nothing_that_came_of_the_run(outcome: str) -> None:
    denials = Denials()
    for number, how in enumerate(["denied", outcome]):
        denials.event(begins(f"c{number}", "Run x", "execute"))
        denials.event(ends(f"c{number}", how))

    assert denials.are_all(result("completed", text="", denied=1))
    assert not denials.are_all(result("completed", text=""))
