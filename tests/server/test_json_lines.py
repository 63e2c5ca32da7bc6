"""JSON written for other programs: nothing in it ends a line or acts."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.kernel.json_lines import inert
from support.wire_models import call
from support.wire_run import settled_home

pytestmark = pytest.mark.covers("R264")

ACTING = frozenset({"Cc", "Cf", "Zl", "Zp"})


def acts(char: str) -> bool:
    return unicodedata.category(char) in ACTING


@given(st.text())
def test_the_value_stays_the_same(text: str) -> None:
    data = orjson.dumps({text: [text]})

    assert orjson.loads(inert(data)) == {text: [text]}
    assert not any(map(acts, inert(data).decode()))


def test_every_character_that_acts_is_an_escape_and_no_letter_is() -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    shown = inert(orjson.dumps("".join(every))).decode()

    assert [char for char in shown if acts(char)] == []
    assert {char for char in every if unicodedata.category(char)[0] in "LMNPS"} <= set(shown)


def test_what_is_plain_is_not_copied() -> None:
    data = b'{"a": "plain \\u2028"}'

    assert inert(data) is data


NASTY = "a\x7fb\x85c\x9b31md\u2028e\u2029f\u202eg\u2066h\u200bi\ufeffj\u200ek\U000e0041l\u061cm"


@pytest.mark.slow
def test_lines_of_a_run_and_of_the_script_log_are_lines_for_every_reader(tmp_path: Path) -> None:
    script, log = tmp_path / "play.json", tmp_path / "log.jsonl"
    turns = [{"text": NASTY, "calls": [call("c1", "read_file", path=NASTY)]}, {"text": NASTY}]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    where = ["--model", f"scripted/{script}", "--cwd", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "pilothouse_cli.main", "run", "--json", *where, "-m", NASTY],
        env={**settled_home(tmp_path), "PILOTHOUSE_SCRIPT_LOG": str(log)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=50,
    )
    written = [ended.stdout.decode(), log.read_text(encoding="utf-8")]

    assert [char for text in written for char in text if acts(char) and char != "\n"] == []
    events, requests = ([json.loads(line) for line in text.splitlines()] for text in written)
    assert (ended.returncode, events[-1]["text"], len(requests)) == (0, NASTY, 2)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["doctor", "--json"], ["schema"]])
def test_reports_hold_nothing_that_acts(command: list[str], tmp_path: Path) -> None:
    environment = {**settled_home(tmp_path), "PILOTHOUSE_MODEL": f"openai/{NASTY}"}
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "pilothouse_cli.main", *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=50,
    )
    text = ended.stdout.decode()

    assert ([char for char in text if acts(char) and char != "\n"], json.loads(text) != {}) == ([], True)
