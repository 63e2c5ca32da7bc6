"""Settings from outside of the command line that do not count: said by `run` and by `doctor`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.wire_run import settled_home

pytestmark = [pytest.mark.slow, pytest.mark.covers("R251")]

CASES: list[tuple[str, dict[str, str], str]] = [
    ("run.maxTurn = 1\n", {}, "run.maxTurn: there is no such setting. Did you mean run.maxTurns?"),
    ("[run]\nmaxTurns = 'abc'\n", {}, 'run.maxTurns: expected a whole number, 1 or more, got "abc".'),
    ("run.maxTurns = \n", {}, "is not valid TOML, so none of its settings count"),
    ("[providers.x]\nbaseUrl = 1\n", {}, "providers.x.baseUrl: expected a text."),
    ("[hooks]\n", {}, "hooks: this version runs none, so it has no effect."),
    ("", {"PILOTHOUSE_SET_RUN_MAXTURN": "1"}, "PILOTHOUSE_SET_RUN_MAXTURN: there is no such setting."),
    ("", {"PILOTHOUSE_SET_RUN_MAXTURNS": "none"}, "run.maxTurns: expected a whole number"),
]


def pilothouse(
    folder: Path, config: str, variables: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    home = folder / "home"
    home.mkdir()
    (home / "config.toml").write_text(config, encoding="utf-8")
    (home / "config.toml").chmod(0o600)
    return subprocess.run(
        [sys.executable, "-P", "-m", "pilothouse_cli.main", *arguments],
        cwd=folder,
        env={**settled_home(home), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
    )


@pytest.mark.parametrize(("config", "variables", "words"), CASES)
@pytest.mark.parametrize("view", [[], ["--quiet"], ["--json"]])
def test_a_run_says_it_on_standard_error_and_goes_on(
    config: str, variables: dict[str, str], words: str, view: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "play.json"
    script.write_text(json.dumps({"turns": [{"text": "Done."}]}), encoding="utf-8")
    ended = pilothouse(tmp_path, config, variables, "run", *view, "--model", f"scripted/{script}", "Hi")

    assert (ended.returncode, ended.stderr.count(words)) == (0, 1)


@pytest.mark.parametrize(("config", "variables", "words"), CASES)
def test_the_doctor_says_it(config: str, variables: dict[str, str], words: str, tmp_path: Path) -> None:
    ended = pilothouse(tmp_path, config, variables, "doctor", "--json")
    [finding] = [each for each in json.loads(ended.stdout)["findings"] if each["name"] == "settings"]

    assert (ended.returncode, finding["level"], words in finding["text"]) == (0, "warning", True)


def test_the_doctor_says_which_model_answers_and_where_its_key_is_from(tmp_path: Path) -> None:
    variables = {"PILOTHOUSE_MODEL": "openai/some-model", "OPENAI_API_KEY": "secret"}
    ended = pilothouse(tmp_path, "", variables, "doctor", "--json")
    [finding] = [each for each in json.loads(ended.stdout)["findings"] if each["name"] == "model"]

    assert finding == {
        "name": "model",
        "level": "ok",
        "text": "openai/some-model (key from environment)",
    }


def test_the_reason_stands_in_the_error_that_it_leads_to(tmp_path: Path) -> None:
    ended = pilothouse(tmp_path, "model = 5\n", {}, "run", "Hi")

    assert (ended.returncode, "--model" in ended.stderr, "model: expected a model as" in ended.stderr) == (
        1,
        True,
        True,
    )
