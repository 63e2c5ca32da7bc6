"""A place where a shell command waits until the test lets it on."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Door"]


class Door:
    """`command` is a shell command that changes nothing, says nothing, and ends once the door is open."""

    def __init__(self, path: Path) -> None:
        self.command = f"grep -q x {path.name}"
        os.mkfifo(path)
        # Open both ways: neither side ever waits for the other to come.
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def open(self) -> None:
        os.write(self._descriptor, b"x\n")

    def __del__(self) -> None:
        os.close(self._descriptor)
