"""The schema of the settings and their page are made from what reads them, so they say the same."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.permissions.layers import Layer
from pilothouse_agent.settings.complaints import complaints
from pilothouse_agent.settings.keys import KEYS
from pilothouse_cli.settings_schema import settings_page, settings_schema, write_settings_schema

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
CONFIG = """\
mode = "edits"
run.maxTurns = 5
model = { id = "mine/large", idleTimeout = 600 }
trust.folders = ["/home/me/work"]
files.encodings = { "*.bat" = "cp850" }
[providers.mine]
baseUrl = "https://models.example/v1"
headers = { X-Team = "blue" }
models.large = { contextWindow = 200_000, inputPrice = "2.50" }
dialect = { schema = "reduced", alternating = true }
[permissions]
commands = { "git push" = "ask" }
paths = { "*.env" = { read = "deny" } }
"""


def _wrong(values: JsonObject) -> list[str]:
    errors: Any = Draft202012Validator(settings_schema()).iter_errors(values)  # pyright: ignore[reportUnknownMemberType]
    return [".".join(map(str, error.absolute_path)) for error in errors]


def test_the_page_is_what_the_command_makes_and_has_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_settings_schema(["--docs"]) == 0
    assert capsys.readouterr().out == settings_page() == PAGE.read_text(encoding="utf-8")
    assert [name for name in KEYS if f"\n| `{name}` | " not in settings_page()] == []


def test_what_the_settings_take_the_schema_takes() -> None:
    values = tomllib.loads(CONFIG)
    assert (complaints(values, layer=Layer.USER), _wrong(values)) == ([], [])


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"run": {"maxTurns": 0}}, "run.maxTurns"),
        ({"run": {"maxTurn": 1}}, "run"),
        ({"model": "gpt"}, "model"),
        ({"mode": "readonly"}, "mode"),
        ({"providers": {"mine": {"baseUrl": "http://h", "idleTimeout": -1}}}, "providers.mine.idleTimeout"),
        ({"permissions": {"tools": {"bash": "never"}}}, "permissions.tools.bash"),
    ],
)
def test_what_the_settings_complain_of_the_schema_refuses(values: JsonObject, where: str) -> None:
    assert len(complaints(values, layer=Layer.USER)) == 1
    assert _wrong(values) == [where]


def test_the_command_prints_the_schema_and_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert [write_settings_schema(arguments) for arguments in ([], ["--what"])] == [0, 2]
    captured = capsys.readouterr()
    assert json.loads(captured.out) == settings_schema()
    assert captured.err == "usage: pilothouse schema --settings [--docs]\n"
