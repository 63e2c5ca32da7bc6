"""Somebody types new lines above in a real Emacs with eglot while the agent edits lines below."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from support.typed_emacs import Emacs, documented_lines, emacs
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.editor, pytest.mark.timeout(600)]

LINES = 20
KEY = 0.04


def edit(number: int) -> Turn:
    change = {"old_text": f"line {number} end", "new_text": f"LINE<{number}> done"}
    edited = call(f"c{number}", "edit_file", path="a.txt", edits=[change])
    return {"text": "Next.", "delayMs": 400, "calls": [edited]}


def typed_lines(editor: Emacs, seconds: float) -> list[str]:
    typed: list[str] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        typed.append(f"new {len(typed)}")
        for key in typed[-1]:
            editor.type(key)
            time.sleep(KEY)
        editor.keys("Enter")
    return typed


@pytest.mark.covers("R282")
@pytest.mark.parametrize("lines", ["stock", "as documented"])
def test_every_edit_is_made_and_no_typed_line_is_lost(tmp_path: Path, lines: str, full_counts: bool) -> None:
    for number in range(20 if full_counts else 1):
        one_round(tmp_path / str(number), documented_lines() if lines == "as documented" else "")


def one_round(folder: Path, lines: str) -> None:
    project, script = folder / "project", folder / "script.json"
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "a.txt").write_text("".join(f"line {k} end\n" for k in range(LINES)), encoding="utf-8")
    edited = (15, 3, 18)
    turns = [*map(edit, edited), {"text": "Done."}]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    variables = {"PILOTHOUSE_MODEL": f"scripted/{script}", "PILOTHOUSE_SET_MODE": "edits"}

    with emacs(project, "a.txt", home=folder / "home", variables=variables, lines=lines) as editor:
        editor.command("test-send")
        editor.type("Renumber.")
        editor.keys("Enter")
        editor.keys("M-<")
        typed = typed_lines(editor, 5)
        editor.keys("M->")
        editor.until_shown("LINE<18> done")
        editor.keys("C-x", "C-s")
        editor.until_shown("Wrote ")

    left = [f"LINE<{k}> done" if k in edited else f"line {k} end" for k in range(LINES)]
    assert (project / "a.txt").read_text(encoding="utf-8").splitlines() == [*typed, *left]
