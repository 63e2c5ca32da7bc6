"""A real Emacs with its own eglot, in a terminal of tmux, driven by keys as a user drives it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.wire_run import settled_home

__all__ = ["Emacs", "documented_lines", "emacs"]

_LIMIT = 30.0
"""Seconds that anything may take; the first wait includes the starts of Emacs and of the server."""
_EMACS = 30
_PLAIN = """
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(text-mode . SERVER))
  (setq eglot-confirm-server-edits nil))
(defun test-send (text)
  (interactive "s")
  (eglot-execute (eglot-current-server)
                 (list :title "" :command "pilothouse.prompt" :arguments (vector (list :text text)))))
"""


class Emacs:
    """Every wait ends: one that takes longer than the limit raises."""

    def __init__(self, socket: Path, variables: Mapping[str, str]) -> None:
        self._socket = socket
        self._variables = variables

    def start(self, command: str, folder: Path) -> None:
        # A configuration of the user would change what keys do.
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "e",
            "-x",
            "100",
            "-y",
            "40",
            "-c",
            str(folder),
            command,
        )

    def keys(self, *keys: str) -> None:
        """By tmux's names, such as `C-x`."""
        self._tmux("send-keys", "-t", "e", *keys)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "e", "-l", text)

    def command(self, name: str) -> None:
        self.keys("M-x")
        self.type(name)
        self.keys("Enter")

    def until_shown(self, part: str) -> None:
        until = time.monotonic() + _LIMIT
        while part not in (shown := self._tmux("capture-pane", "-p", "-t", "e")):
            assert time.monotonic() < until, f"{part!r} did not appear:\n{shown}"
            time.sleep(0.1)

    def end(self) -> None:
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], check=False, capture_output=True)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, encoding="utf-8", env=self._variables, timeout=_LIMIT
        ).stdout


def documented_lines() -> str:
    """The part of the documented configuration that is about typing."""
    docs = Path(__file__).parents[2] / "docs" / "plain-lsp.md"
    [lines] = re.findall(
        r"^```elisp\n([^`]*pilothouse-flush[^`]*)^```", docs.read_text(encoding="utf-8"), re.MULTILINE
    )
    return lines


@contextmanager
def emacs(
    folder: Path, file: str, *, home: Path, variables: Mapping[str, str], lines: str = ""
) -> Generator[Emacs]:
    """With `file` open and eglot connected; skips with a word where there is no such Emacs."""
    if shutil.which("tmux") is None or shutil.which("emacs") is None:
        pytest.skip("there is no Emacs, or no tmux to run it in")
    version = subprocess.run(["emacs", "--version"], check=True, capture_output=True, encoding="utf-8").stdout
    if int(version.split()[2].split(".")[0]) < _EMACS:
        pytest.skip(f"this Emacs is older than {_EMACS}")
    server = f'("{sys.executable}" "-P" "-m" "pilothouse_cli.main" "serve")'
    start = home / "start.el"
    home.mkdir(parents=True, exist_ok=True)
    start.write_text(lines + _PLAIN.replace("SERVER", server), encoding="utf-8")
    environment = {**settled_home(home / "pilothouse"), **variables, "HOME": str(home), "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix="emacs-") as short:
        editor = Emacs(Path(short, "s"), {**environment, "TERM": os.environ.get("TERM", "xterm-256color")})
        try:
            editor.start(f"TERM=xterm-256color emacs -nw -Q -l {start} {file}", folder)
            editor.until_shown(file)
            editor.command("eglot")
            editor.until_shown(f"[eglot:{folder.name}]")
            yield editor
        finally:
            editor.end()
