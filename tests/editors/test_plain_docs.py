"""Every snippet of docs/plain-lsp.md, run in the stock editor that it is for."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.emacs import Emacs, emacs
from support.neovim import Neovim, neovim
from support.wire_models import Turn, call

DOCS = (Path(__file__).parents[2] / "docs" / "plain-lsp.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
TOUCH: Turn = {"calls": [call("c1", "bash", command="touch p")]}
DONE: Turn = {"text": "Done."}


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    return project


def variables(project: Path, *turns: Turn, path: str | None = None) -> dict[str, str]:
    script = project.parent / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    found = f"{BIN}{os.pathsep}{os.environ['PATH']}" if path is None else path
    return {"PILOTHOUSE_MODEL": f"scripted/{script}", "PATH": found}


@contextmanager
def documented_neovim(project: Path, *turns: Turn) -> Generator[Neovim]:
    """With all that the page has for it, and a first file open."""
    home = project.parent / "home"
    with neovim(project, home=home, variables=variables(project, *turns)) as nvim:
        for snippet in snippets("lua"):
            nvim.lua(snippet)
        nvim.edit(project / "a.py")
        yield nvim


pytestmark = [pytest.mark.slow, pytest.mark.editor]


@pytest.mark.covers("R287")
def test_neovim_shows_what_waits_in_its_status_line_and_quits_with_the_chat_saved(project: Path) -> None:
    chat = project / ".pilothouse" / "chat.md"
    with documented_neovim(project, TOUCH, DONE) as nvim:
        nvim.act("Pilothouse: Open the chat")
        nvim.until_attached(chat)
        nvim.keys("GoGo.<Esc>\\ps")
        nvim.until("vim.g.pilothouse == 'Waiting for you: Run touch p?'")
        line = nvim.lua("return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str")
        nvim.act("Pilothouse: Reject: Run touch p")
        nvim.until_text("Done.\n\n## You")
        nvim.until("vim.g.pilothouse == ''")
        text = nvim.text(chat)
        nvim.keys(":qa<CR>")
        until = time.monotonic() + 20
        while "Done." not in chat.read_text(encoding="utf-8"):
            assert time.monotonic() < until, "the chat was not saved"
            time.sleep(0.05)

    assert line.rstrip().endswith("Waiting for you: Run touch p?")
    assert chat.read_text(encoding="utf-8") == text


@pytest.mark.covers("R287", "R286")
def test_neovim_offers_to_fix_the_diagnostics_of_others(project: Path) -> None:
    found = "{{ lnum = 0, col = 0, message = 'x is odd' }}"
    with documented_neovim(project, DONE) as nvim:
        nvim.lua(f"vim.diagnostic.set(vim.api.nvim_create_namespace('other'), 0, {found})")
        nvim.lua(
            "vim.ui.select = function(items)"
            " vim.g.offered = vim.tbl_map(function(item) return item.action.title end, items) end"
        )
        nvim.keys("\\pa")
        nvim.until("vim.g.offered ~= nil")

        assert nvim.lua("return vim.g.offered") == ["Pilothouse: Open the chat", "Pilothouse: Fix “x is odd”"]


@pytest.mark.covers("R287")
def test_neovim_says_when_the_server_is_not_to_be_found(project: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "nvim").write_text(f'#!/bin/sh\nexec {shutil.which("nvim")} "$@"\n', encoding="utf-8")
    (tools / "nvim").chmod(0o755)
    with neovim(project, home=tmp_path / "home", variables=variables(project, path=str(tools))) as nvim:
        nvim.lua(snippets("lua")[0])

        assert "pilothouse is not in PATH" in nvim.lua("return vim.fn.execute('messages')")


@pytest.mark.covers("R287")
def test_helix_is_told_in_toml_that_it_can_read() -> None:
    (snippet,) = snippets("toml")
    told = tomllib.loads(snippet)

    assert told["language-server"]["pilothouse"] == {"command": "pilothouse"}
    assert all("pilothouse" in each["language-servers"] for each in told["language"])


@pytest.fixture
def at_emacs(project: Path) -> Iterator[Emacs]:
    """With all that the page has for it, eglot started in a first file."""
    with ExitStack() as stack:
        snippet = "\n".join(snippets("elisp"))
        given = variables(project, TOUCH, DONE)
        editor = stack.enter_context(
            emacs(project, home=project.parent / "home", init=snippet, variables=given)
        )
        editor.run(f'(find-file "{project / "a.py"}")')
        editor.run("(progn (require 'eglot) (apply #'eglot (eglot--guess-contact)))")
        editor.until("(eglot-current-server)")
        yield editor


@pytest.mark.covers("R287", "R281")
def test_emacs_has_the_chat_managed_and_its_question_answered_by_a_code_action(
    at_emacs: Emacs, project: Path
) -> None:
    at_emacs.run(command("pilothouse.openChat"))
    at_emacs.until('(get-buffer "chat.md")')
    at_emacs.run('(switch-to-buffer "chat.md")')
    at_emacs.until("(eglot-managed-p)")
    mode = at_emacs.run("major-mode")
    at_emacs.run('(progn (goto-char (point-max)) (insert "Go.\\n/send\\n") (save-buffer))')
    at_emacs.until('(string-search "May I?" (buffer-string))')
    at_emacs.run(command("pilothouse.deny"))
    at_emacs.until('(string-search "Done." (buffer-string))')

    assert mode == "pilothouse-chat-mode"
    assert not (project / "p").exists()


def command(name: str) -> str:
    return f'(eglot-execute (eglot-current-server) \'(:title "x" :command "{name}"))'
