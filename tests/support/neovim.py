"""A real Neovim with its own LSP client and no plugin, driven as a user drives it."""

from __future__ import annotations

import importlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.wire_run import settled_home

__all__ = ["Neovim", "neovim"]

msgpack: Any = importlib.import_module("msgpack")
"""It has no types."""
_LIMIT = 20.0
"""Seconds that anything may take; the first wait includes the server's start."""
_CONFIGURATION = """
vim.lsp.config('pilothouse', { cmd = ..., root_markers = { '.git' } })
vim.lsp.enable('pilothouse')
"""
_ACT = """
local title = ...
vim.lsp.buf.code_action({ apply = true, filter = function(each) return each.title == title end })
"""
_TITLES = """
local found = {}
local position = vim.lsp.util.make_range_params(0, 'utf-8')
position.context = { diagnostics = {} }
for _, answer in pairs(vim.lsp.buf_request_sync(0, 'textDocument/codeAction', position, 5000) or {}) do
  for _, action in ipairs(answer.result or {}) do table.insert(found, action.title) end
end
return found
"""


class Neovim:
    """Every call ends: one that takes longer than the limit raises `TimeoutError`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self._unpacker = msgpack.Unpacker(strict_map_key=False)
        self._asked = 0

    def keys(self, keys: str) -> None:
        """Typed, and worked off before the next call is answered unless a prompt waits for more."""
        self._call("nvim_input", keys)

    def lua(self, code: str, *arguments: Any) -> Any:
        return self._call("nvim_exec_lua", code, arguments)

    def until(self, condition: str, *arguments: Any) -> None:
        """Let Neovim work until a Lua expression of `...` holds."""
        code = (
            f"local a = {{...}}; return vim.wait({_LIMIT * 900:.0f}, function() return {condition} end, 10)"
        )
        if not self.lua(code, *arguments):
            state = self.lua("return { vim.fn.execute('messages'), vim.api.nvim_buf_get_name(0) }")
            raise AssertionError(
                f"it did not come to {condition!r}; messages and buffer: {state}\n{self.text()}"
            )

    def edit(self, path: Path) -> None:
        self.lua("vim.cmd.edit(...)", str(path))
        self.until_attached(path)

    def until_attached(self, path: Path) -> None:
        attached = (
            "vim.api.nvim_buf_get_name(0) == a[1] and #vim.lsp.get_clients({ bufnr = 0 }) == 1 "
            "and vim.lsp.get_clients({ bufnr = 0 })[1].initialized"
        )
        self.until(attached, str(path))

    def text(self, path: Path | None = None) -> str:
        """Of the buffer of a file, or of the current one."""
        code = "return vim.api.nvim_buf_get_lines(... ~= nil and vim.fn.bufnr(...) or 0, 0, -1, true)"
        lines = self.lua(code, *([str(path)] if path is not None else []))
        return "".join(f"{line}\n" for line in lines)

    def until_text(self, part: str, path: Path | None = None) -> None:
        buffer = "a[2] and vim.fn.bufnr(a[2]) or 0"
        text = f"table.concat(vim.api.nvim_buf_get_lines({buffer}, 0, -1, true), '\\n')"
        self.until(f"{text}:find(a[1], 1, true)", part, *([str(path)] if path is not None else []))

    def act(self, title: str) -> None:
        """Carry out the code action of this title, as `gra` and a choice would."""
        self.lua(_ACT, title)

    def actions(self) -> list[str]:
        return self.lua(_TITLES)

    def until_prompt(self) -> None:
        """Wait for a question that blocks the editor; only keys get on from there."""
        until = time.monotonic() + _LIMIT
        while time.monotonic() < until:
            if self._call("nvim_get_mode")["mode"][0] in "rc":
                return
        raise AssertionError("no question came")

    def _call(self, method: str, *arguments: Any) -> Any:
        self._asked += 1
        self._input.write(msgpack.packb([0, self._asked, method, arguments]))
        self._input.flush()
        while (message := self._message())[:2] != [1, self._asked]:
            pass
        assert message[2] is None, message[2]
        return message[3]

    def _message(self) -> list[Any]:
        until = time.monotonic() + _LIMIT
        while True:
            for message in self._unpacker:
                return message
            if not select.select([self._output], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"Neovim said nothing for {_LIMIT} s")
            data = os.read(self._output.fileno(), 1 << 16)
            assert data, "Neovim has ended"
            self._unpacker.feed(data)


@contextmanager
def neovim(folder: Path, *, home: Path, variables: Mapping[str, str]) -> Generator[Neovim]:
    """In `folder`, with everything of its own below `home`; the server gets `variables`."""
    homes = {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environment = {**settled_home(home / "pilothouse"), **homes, **variables}
    process = subprocess.Popen(
        ["nvim", "--embed", "--headless", "--clean", "-n"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            editor = Neovim(process)
            server = [sys.executable, "-P", "-m", "pilothouse_cli.main", "serve"]
            editor.lua(_CONFIGURATION, server)
            yield editor
        finally:
            process.kill()
