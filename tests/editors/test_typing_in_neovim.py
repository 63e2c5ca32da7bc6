"""Somebody types in a real Neovim without a plugin while the agent edits the same buffer."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from support.neovim import Neovim, neovim
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.editor, pytest.mark.timeout(300)]

STOCK = ""
AS_DOCUMENTED = "vim.lsp.config('pilothouse', { flags = { debounce_text_changes = 0 } })"
WATCH = """
_G.ended = {}
vim.api.nvim_create_autocmd('LspProgress', { pattern = 'end', callback = function(event)
  table.insert(_G.ended, event.data.params.value.message)
end })
"""
SEND = """
local command = { title = 'Send', command = 'pilothouse.prompt', arguments = { { text = 'Renumber.' } } }
vim.lsp.get_clients()[1]:exec_cmd(command)
"""


def edits(count: int) -> list[Turn]:
    """Of one line each, a moment apart."""
    changes = [{"old_text": f"line {k} ", "new_text": f"LINE<{k}> "} for k in range(count)]
    return [
        {"text": "Next.", "delayMs": 30, "calls": [call(f"c{k}", "edit_file", path="a.txt", edits=[change])]}
        for k, change in enumerate(changes)
    ]


def typed_until_the_run_ends(nvim: Neovim, *, a_second: float) -> str:
    typed = ""
    while not nvim.lua("return _G.ended[1]"):
        word = f" w{len(typed)}"
        for key in word:
            nvim.keys(key)
            time.sleep(1 / a_second)
        typed += word
        assert len(typed) < 10_000, "the run does not end"
    return typed


@pytest.mark.covers("R283")
@pytest.mark.parametrize("flags", [STOCK, AS_DOCUMENTED], ids=["stock", "as documented"])
@pytest.mark.parametrize(("a_second", "most"), [(8, 200), (16, 60)])
def test_every_edit_is_made_and_every_key_stands(
    tmp_path: Path, a_second: float, most: int, flags: str, full_counts: bool
) -> None:
    count = most if full_counts else 60
    project, script = tmp_path / "project", tmp_path / "script.json"
    (project / ".git").mkdir(parents=True)
    lines = "".join(f"line {k} \U0001f680 café end\n" for k in range(count))
    (project / "a.txt").write_text(lines, encoding="utf-8")
    script.write_text(json.dumps({"turns": [*edits(count), {"text": "Done."}]}), encoding="utf-8")
    variables = {
        "PILOTHOUSE_MODEL": f"scripted/{script}",
        "PILOTHOUSE_SET_MODE": "edits",
        "PILOTHOUSE_SET_RUN_MAXTURNS": str(count + 1),
    }

    with neovim(project, home=tmp_path / "home", variables=variables) as nvim:
        nvim.lua(flags + WATCH)
        nvim.edit(project / "a.txt")
        nvim.lua(SEND)
        nvim.keys("G$a")
        typed = typed_until_the_run_ends(nvim, a_second=a_second)
        nvim.keys("<Esc>")

        made = "".join(f"LINE<{k}> \U0001f680 café end\n" for k in range(count))
        assert nvim.text() == made.removesuffix("\n") + typed + "\n"
        assert nvim.lua("return _G.ended") == ["completed"]
        assert (project / "a.txt").read_text(encoding="utf-8") == lines
