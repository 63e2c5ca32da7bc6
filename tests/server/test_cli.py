from __future__ import annotations

import io
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pilothouse_server.cli import main
from pilothouse_server.run.options import RunOptions, parse_run


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_that_of_the_package(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option]) == 0
    assert capsys.readouterr().out == f"pilothouse {version('pilothouse')}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["help"], ["demo", "--help"], ["run", "--help"]])
def test_help_is_no_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("usage: pilothouse ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chat"], "there is no command 'chat'"),
        (["--modle", "x"], "there is no command '--modle'"),
        (["serve", "--port"], "pilothouse serve takes no '--port'"),
        (["demo", "x"], "pilothouse demo takes no 'x'"),
        (["run"], "say what to do"),
        (["run", ""], "the prompt is empty"),
        (["run", "-m", " \n"], "the prompt is empty"),
        (["run", "a", "-m", "b"], "the prompt was given twice"),
        (["run", "a", "b"], "unrecognized arguments: b"),
        (["run", "a", "--jso"], "unrecognized arguments: --jso"),
        (["run", "a", "--approve", "some"], "invalid choice: 'some'"),
        (["run", "a", "--max-turns", "0"], "'0' is not a whole number from 1"),
        (["run", "a", "--timeout", "-1"], "'-1' is not a number of seconds above 0"),
        (["run", "a", "--timeout", "inf"], "'inf' is not a number of seconds above 0"),
        (["run", "a", "--set", "x"], "'x' is not KEY=VALUE"),
        (["run", "a", "--set", "=1"], "'=1' is not KEY=VALUE"),
        (["run", "a", "--cwd", "/no/such"], "'/no/such' is not a folder"),
        (["run", "a", "--session", "s1"], "sessions are not kept"),
    ],
)
def test_wrong_usage_is_said_on_standard_error_with_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True)


def options(**fields: Any) -> RunOptions:
    defaults: dict[str, Any] = {"text": "Hi", "cwd": Path.cwd()}
    return RunOptions(**{**defaults, **fields})


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        (["Hi"], options()),
        (["-m", "Hi"], options()),
        (["-m", "-x"], options(text="-x")),
        (["--json", "-m", "--json"], options(text="--json", json=True)),
        (["--json", "Hi", "--quiet", "--timeout", "1.5"], options(json=True, quiet=True, timeout=1.5)),
        (["Hi", "--model", "a/b/c", "--approve", "all"], options(model="a/b/c", approve="all")),
        (["Hi", "--cwd", "/"], options(cwd=Path("/"))),
        (
            [
                "Hi",
                "--max-turns",
                "3",
                "--set",
                "retry.baseDelay=0.01",
                "--set",
                "model=a/b",
                "--set",
                "x=a=b",
            ],
            options(settings={"run.maxTurns": 3, "retry.baseDelay": 0.01, "model": "a/b", "x": "a=b"}),
        ),
        (["Hi", "--set", 'providers=[{"name": "x"}]'], options(settings={"providers": [{"name": "x"}]})),
    ],
)
def test_the_options_of_run(arguments: list[str], parsed: RunOptions) -> None:
    assert parse_run(arguments) == parsed


class Piped:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_a_dash_reads_the_prompt_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Piped("\ufeffErklär a\r\nb\n".encode()))

    assert parse_run(["-"]).text == "Erklär a\r\nb\n"


def test_standard_input_that_is_no_text_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(b"\xff"))

    assert main(["run", "-"]) == 2
    assert "standard input is not UTF-8 text" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("import_line", "unwanted"),
    [
        ("pilothouse_server.cli", {"argparse", "asyncio", "orjson", "pydantic", "pygls"}),
        ("pilothouse_server.headless", {"argparse", "pydantic", "pygls", "httpx"}),
        ("pilothouse_server.run.command", {"pydantic", "pygls", "httpx"}),
    ],
)
def test_the_light_modules_load_nothing_heavy(import_line: str, unwanted: set[str]) -> None:
    script = f"import sys, {import_line}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert unwanted.intersection(loaded.split()) == set()
