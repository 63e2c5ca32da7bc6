"""Somebody types in a real Neovim while the agent asks: whatever the keys are, they allow nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from support.neovim import neovim
from support.wire_models import call

pytestmark = [pytest.mark.slow, pytest.mark.editor, pytest.mark.timeout(300)]

TYPED = {
    "a column of numbers": ["2", "<CR>"],
    "code": ["y", " ", "=", " ", "2", "<CR>"],
    "choices": ["1", "<CR>", "3", "<CR>", "2", "<CR>"],
}
SEND = """
local command = { title = 'Send', command = 'pilothouse.prompt', arguments = { { text = 'Clean.' } } }
vim.lsp.get_clients()[1]:exec_cmd(command)
"""
SECONDS = 6
"""Of typing; the question comes after the first."""


@pytest.mark.covers("R281")
@pytest.mark.parametrize("dialog", ["auto", "never", "quiet"])
@pytest.mark.parametrize("keys", TYPED)
def test_keys_that_are_meant_for_the_text_allow_nothing(
    tmp_path: Path, keys: str, dialog: str, full_counts: bool
) -> None:
    project, script = tmp_path / "project", tmp_path / "script.json"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    turns = [
        {"text": "Cleaning.", "delayMs": 700, "calls": [call("c1", "bash", command="touch DANGER")]},
        {"text": "Done."},
    ]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    variables = {"PILOTHOUSE_MODEL": f"scripted/{script}", "PILOTHOUSE_SET_APPROVALS_DIALOG": dialog}
    for number in range(20 if full_counts and keys == "a column of numbers" else 1):
        with neovim(project, home=tmp_path / f"home{number}", variables=variables) as nvim:
            nvim.edit(project / "a.py")
            nvim.lua(SEND)
            nvim.keys("o")
            typed, until = 0, time.monotonic() + SECONDS
            while time.monotonic() < until:
                nvim.keys(TYPED[keys][typed % len(TYPED[keys])])
                typed += 1
                time.sleep(0.08)
            nvim.keys("<Esc>")
            text = nvim.text()

            assert not (project / "DANGER").exists()
            assert text.count("2") >= typed // len(TYPED[keys])
