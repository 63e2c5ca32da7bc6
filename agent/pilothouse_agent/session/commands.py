"""What the shell commands of a session run in."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pilothouse_agent.tools.shell.background import BackgroundProcesses
from pilothouse_agent.tools.shell.running import Shell

__all__ = ["SessionCommands"]


class SessionCommands:
    """A shell, what goes on in the background, and a folder for output. `close` ends all of it."""

    def __init__(self, cwd: str, environment: Mapping[str, str]) -> None:
        """`environment` is that of the child processes."""
        self.environment = environment
        # Made by the first command that needs it: a process that is killed then leaves nothing behind.
        self.output = Path(tempfile.gettempdir(), f"pilothouse-{secrets.token_hex(8)}")
        self.shell = Shell(cwd, environment)
        self.background = BackgroundProcesses(self.shell, self.output)

    async def close(self) -> None:
        await asyncio.gather(self.background.close(), self.shell.close())
        await asyncio.to_thread(shutil.rmtree, self.output, ignore_errors=True)
