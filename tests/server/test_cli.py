from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pilothouse_cli.main import main
from pilothouse_cli.run.options import RunOptions, parse_run


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
        (["run", "a", "--jso"], "unrecognized arguments: --jso"),
        (["run", "a", "--approve", "some"], "invalid choice: 'some'"),
        (["run", "a", "--max-turns", "0"], "'0' is not a whole number from 1"),
        (["run", "a", "--timeout", "-1"], "'-1' is not a number of seconds above 0"),
        (["run", "a", "--timeout", "inf"], "'inf' is not a number of seconds above 0"),
        (["run", "a", "--set", "x"], "x: expected KEY=VALUE, for example run.maxTurns=5."),
        (["run", "a", "--set", "=1"], "there is no such setting"),
        (["run", "a", "--cwd", "/no/such"], "'/no/such' is not a folder"),
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


@pytest.mark.covers("R274")
@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        (["Hi"], options()),
        (["-m", "Hi"], options()),
        (["-m", "-x"], options(text="-x")),
        (["--json", "-m", "--json"], options(text="--json", json=True)),
        (["--json", "Hi", "--quiet", "--timeout", "1.5"], options(json=True, quiet=True, timeout=1.5)),
        (["Hi", "--model", "a/b/c", "--approve", "all"], options(model="a/b/c", approve="all")),
        (["fix", "the", "test"], options(text="fix the test")),
        (
            ["fix", "--json", "the", "--model", "a/b", "test"],
            options(text="fix the test", json=True, model="a/b"),
        ),
        (["--json", "--", "-x", "is", "odd"], options(text="-x is odd", json=True)),
        (["Hi", "--cwd", "/"], options(cwd=Path("/"))),
        (
            [
                "Hi",
                "--max-turns",
                "3",
                "--set",
                "retry.baseDelay=0.01",
                "--set",
                "model=a/b=c",
            ],
            options(settings={"run.maxTurns": 3, "retry.baseDelay": 0.01, "model": "a/b=c"}),
        ),
    ],
)
def test_the_options_of_run(arguments: list[str], parsed: RunOptions) -> None:
    assert parse_run(arguments) == parsed


PROVIDER = '{"format": "openai-chat", "baseUrl": "http://localhost:1/v1"}'


@pytest.mark.covers("R251")
@pytest.mark.parametrize(
    ("assignments", "words"),
    [
        (["run.maxTurn=1"], "run.maxTurn: there is no such setting. Did you mean run.maxTurns?"),
        (["runs.maxTurns=1"], "Did you mean run.maxTurns?"),
        (["Model=a/b"], "Did you mean model or mode?"),
        (["run.maxTurns=abc"], 'run.maxTurns: expected a whole number, 1 or more, got "abc".'),
        (["run.maxTurns=0"], "expected a whole number, 1 or more, got 0."),
        (["run.maxTurns=true"], "expected a whole number"),
        (["run.maxTurns="], "expected a whole number"),
        (["model.idleTimeout=-1"], "expected a time in seconds, more than 0, got -1."),
        (["mode=maybe"], "expected one of "),
        (["model=gpt"], "expected a model as provider/model"),
        (["queue.steering=two"], "expected one of one, all"),
        (["providers=[]"], "providers: expected an object, got a list."),
        (["providers.x.baseUrl=1"], "x"),
        (["permissions.allowed=[]"], "allowed"),
        (["hooks={}"], "hooks"),
        (["tools.grace=1", "tools.gracefully=1"], "Did you mean tools.grace or tools.parallel?"),
    ],
)
def test_a_setting_that_would_have_no_effect_is_wrong_usage(
    assignments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word for assignment in assignments for word in ("--set", assignment)]

    assert main(["run", "Hi", *given]) == 2
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert (out, last.startswith("pilothouse run: error: argument --set: "), words in last) == (
        "",
        True,
        True,
    )


@pytest.mark.covers("R251")
@pytest.mark.parametrize(
    ("assignments", "settings"),
    [
        ([f"providers.local={PROVIDER}"], {"providers.local": json.loads(PROVIDER)}),
        (
            [f"providers.local={PROVIDER}", "providers.local.connectTimeout=5"],
            {"providers.local": json.loads(PROVIDER), "providers.local.connectTimeout": 5},
        ),
        (
            ["providers.ollama.baseUrl=http://box:11434/v1"],
            {"providers.ollama.baseUrl": "http://box:11434/v1"},
        ),
    ],
)
def test_dotted_keys_reach_into_settings_that_are_objects(
    assignments: list[str], settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PILOTHOUSE_HOME", str(tmp_path))
    given = [word for assignment in assignments for word in ("--set", assignment)]

    assert parse_run(["Hi", *given]).settings == settings


@pytest.mark.slow
@pytest.mark.parametrize(
    ("import_line", "unwanted"),
    [
        ("pilothouse_cli.main", {"argparse", "asyncio", "orjson", "pydantic", "pygls"}),
        ("pilothouse_cli.headless", {"argparse", "pydantic", "pygls", "httpx"}),
        ("pilothouse_cli.run.command", {"pydantic", "pygls", "httpx"}),
    ],
)
def test_the_light_modules_load_nothing_heavy(import_line: str, unwanted: set[str]) -> None:
    script = f"import sys, {import_line}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert unwanted.intersection(loaded.split()) == set()
