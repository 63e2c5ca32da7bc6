"""A real Emacs with its own eglot and no package, asked as its user would ask it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.wire_run import settled_home

__all__ = ["Emacs", "emacs"]

_LIMIT = 30.0
"""Seconds that anything may take."""


class Emacs:
    """A daemon. Every call ends: one that takes longer than the limit fails."""

    def __init__(self, socket: Path, environment: Mapping[str, str]) -> None:
        self._socket = socket
        self._environment = environment

    def run(self, form: str) -> str:
        """Evaluated in the buffer that is shown; its value as it is printed."""
        done = self._asked(f"(with-current-buffer (window-buffer) {form})")
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def until_started(self) -> None:
        until = time.monotonic() + _LIMIT
        while self._asked("t").returncode != 0:
            assert time.monotonic() < until, "Emacs did not start"
            time.sleep(0.1)

    def _asked(self, form: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["emacsclient", "-s", str(self._socket), "-e", form],
            env=self._environment,
            capture_output=True,
            timeout=_LIMIT,
            check=False,
        )

    def until(self, form: str) -> None:
        """Until its value is not nil."""
        until = time.monotonic() + _LIMIT
        while self.run(form) == "nil":
            assert time.monotonic() < until, f"it did not come to {form}\n{self.run('(buffer-string)')}"
            time.sleep(0.1)


@contextmanager
def emacs(folder: Path, *, home: Path, init: str, variables: Mapping[str, str]) -> Generator[Emacs]:
    """In `folder`, with everything of its own below `home`; skips where there is none of version 30."""
    program = shutil.which("emacs")
    found = subprocess.run([program, "--version"], capture_output=True, check=True).stdout if program else b""
    if program is None or not found.startswith(b"GNU Emacs 30"):
        pytest.skip("needs Emacs 30 (Debian: bookworm-backports, emacs-nox)")
    # Emacs refuses a socket in a folder that others can look into.
    home.mkdir(mode=0o700)
    start, socket = home / "init.el", home / "socket"
    start.write_text(init, encoding="utf-8")
    environment = {**settled_home(home / "pilothouse"), **variables, "HOME": str(home), "TERM": "dumb"}
    process = subprocess.Popen(
        [program, "-Q", f"--fg-daemon={socket}", "-l", str(start)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            editor = Emacs(socket, environment)
            editor.until_started()
            yield editor
        finally:
            process.kill()
