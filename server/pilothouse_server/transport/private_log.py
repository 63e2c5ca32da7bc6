"""A log file for its owner alone."""

from __future__ import annotations

import os
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import cast

__all__ = ["PrivateLog"]

_SIZE, _OLD_FILES = 1024 * 1024, 2
_MODE = 0o600


class PrivateLog(RotatingFileHandler):
    def __init__(self, path: Path) -> None:
        """Raises OSError. Blocks, as writing does."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(
            path, maxBytes=_SIZE, backupCount=_OLD_FILES, encoding="utf-8", errors="backslashreplace"
        )

    def _open(self) -> TextIOWrapper:
        def private(path: str, flags: int) -> int:
            descriptor = os.open(path, flags, _MODE)
            # One from before, or with a looser umask.
            with suppress(OSError):
                os.chmod(descriptor, _MODE)
            return descriptor

        stream = open(  # noqa: SIM115
            self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=private
        )
        return cast("TextIOWrapper", stream)
