"""Somebody types in a real VS Code while the agent edits the same document, and while it asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.vscode import VSCode, vscode
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.editor, pytest.mark.timeout(300)]


def edits(count: int) -> list[Turn]:
    """Of one line each, a moment apart."""
    changes = [{"old_text": f"line {k} ", "new_text": f"LINE<{k}> "} for k in range(count)]
    return [
        {
            "text": "Next.",
            "delayMs": 60,
            "calls": [call(f"c{k}", "edit_file", path="open.txt", edits=[change])],
        }
        for k, change in enumerate(changes)
    ]


def typed_until_the_run_ends(editor: VSCode, *, a_second: float) -> str:
    typed = ""
    while not editor.run("return ended.length"):
        word = f" w{len(typed)}"
        editor.keys(word, a_second=a_second)
        typed += word
        assert len(typed) < 10_000, "the run does not end"
    return typed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return project


def playing(folder: Path, *turns: Turn, **more: str) -> dict[str, str]:
    """The variables of a server whose model plays these."""
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return {"PILOTHOUSE_MODEL": f"scripted/{script}", **more}


@pytest.mark.covers("R283")
@pytest.mark.parametrize("a_second", [8, 16])
def test_every_edit_is_made_and_every_key_stands(
    tmp_path: Path, project: Path, a_second: float, full_counts: bool
) -> None:
    count = 200 if full_counts else 60
    lines = "".join(f"line {k} \U0001f680 café end\n" for k in range(count))
    (project / "open.txt").write_text(lines, encoding="utf-8")
    settings = {"PILOTHOUSE_SET_MODE": "edits", "PILOTHOUSE_SET_RUN_MAXTURNS": str(count + 1)}
    variables = playing(tmp_path, *edits(count), {"text": "Done."}, **settings)

    with vscode(project, home=tmp_path / "home", variables=variables) as editor:
        editor.open(project / "open.txt")
        editor.press("Control+End")
        editor.prompt("Renumber the lines.")
        typed = typed_until_the_run_ends(editor, a_second=a_second)

        made = "".join(f"LINE<{k}> \U0001f680 café end\n" for k in range(count))
        editor.until(f"vscode.window.activeTextEditor.document.getText() === {json.dumps(made + typed)}", 5)
        assert editor.run("return ended") == ["completed"]
        assert (project / "open.txt").read_text(encoding="utf-8") == lines


@pytest.mark.covers("R281", "R284")
def test_a_question_waits_for_the_keys_to_rest_and_comes_back_when_its_message_has_gone(
    tmp_path: Path, project: Path
) -> None:
    (project / "open.txt").write_text("one\n", encoding="utf-8")
    command = {"text": "Cleaning.", "calls": [call("c1", "bash", command="touch MADE")]}

    with vscode(
        project, home=tmp_path / "home", variables=playing(tmp_path, command, {"text": "Done."})
    ) as editor:
        allow = editor.page.locator(".notifications-toasts .monaco-button", has_text="Allow").first
        close = editor.page.locator(".notifications-toasts .codicon-notifications-clear").first
        editor.open(project / "open.txt")
        editor.press("Control+End")
        editor.keys("a", a_second=8)
        editor.prompt("Clean up.")
        editor.keys(" y = 2\n" * 8, a_second=8)

        assert not allow.is_visible()
        allow.wait_for(timeout=20_000)
        close.click()
        allow.wait_for(state="hidden", timeout=20_000)
        assert not (project / "MADE").exists()
        allow.wait_for(timeout=60_000)
        allow.click()
        editor.until("ended.length", 30)
        assert editor.run("return ended") == ["completed"]
        assert (project / "MADE").exists()
        assert editor.text(project / "open.txt") == "one\na" + " y = 2\n" * 8
