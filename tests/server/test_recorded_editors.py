"""The main job in editors without a plugin, each with just the abilities that it declares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.nursery import Nursery
from support.strict_editor import CLIENTS, StrictEditor
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

TURNS: list[Turn] = [
    {"text": "I read it.", "calls": [call("c1", "read_file", path="a.py")]},
    {"calls": [call("c2", "edit_file", path="a.py", edits=[{"old_text": "x = 1", "new_text": "x = 2"}])]},
    {"text": "Done."},
]
KEEP_KEYS_OUT = ("eglot", "vscode")
"""Those whose dialogs no key that is meant for a text can answer with a yes."""


@pytest.mark.covers("R281")
@pytest.mark.parametrize("name", CLIENTS)
def test_the_main_job_needs_nothing_that_the_editor_has_not_declared(
    servers: Nursery, tmp_path: Path, name: str
) -> None:
    script, project = tmp_path / "script.json", tmp_path / "project"
    script.write_text(json.dumps({"turns": TURNS}), encoding="utf-8")
    project.mkdir()
    source, chat = project / "a.py", project / ".pilothouse" / "chat.md"
    source.write_text("x = 1\n", encoding="utf-8")
    with servers.started(tmp_path / "home", {"PILOTHOUSE_MODEL": f"scripted/{script}"}) as client:
        editor = StrictEditor(client, name, project)
        editor.open(source)
        if editor.takes_edits:
            editor.type(source, "# mine\n")

        editor.act(source, "Pilothouse: Open the chat")
        editor.open(chat)
        editor.type(chat, "Set x to 2.\n")
        if not editor.takes_edits:
            editor.save(chat)
        editor.act(chat, "Pilothouse: Send")
        if name in KEEP_KEYS_OUT:
            editor.choose(editor.question(), "Allow")
        else:
            editor.until_offered(source, "Pilothouse: Allow")
            editor.act(source, "Pilothouse: Allow: Edit a.py")
        editor.until_offered(chat, "Pilothouse: Undo run")

        typed = editor.text(source), source.read_text(encoding="utf-8")
        assert editor.objections == []
        assert typed == (("x = 2\n# mine\n", "x = 1\n") if editor.takes_edits else ("x = 1\n", "x = 2\n"))
