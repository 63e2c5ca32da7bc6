"""Commands that go on after their call, owned until the session ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.child import Child
from pilothouse_agent.tools.output_file import create_output_file
from pilothouse_agent.tools.shell import Shell

__all__ = ["BackgroundProcesses"]

_CLOSED = "The session is ending; no command is started any more."
_POLL = 1.0


class BackgroundProcesses:
    """Starts commands that nobody waits for; `close` ends what is left of all of them."""

    def __init__(self, shell: Shell, folder: Path) -> None:
        """`folder` gets one file of output a command."""
        self._shell = shell
        self._folder = folder
        self._children: set[Child] = set()
        self._watching: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self, command: str) -> tuple[int, str]:
        """The pid of its process group and the path of its output. Raises `ToolError`."""
        if self._closed:
            raise ToolError(_CLOSED)
        try:
            file, path = await asyncio.to_thread(create_output_file, self._folder, "background-")
        except OSError as error:
            raise ToolError(f"No file for its output can be made in {self._folder}: {error}.") from error
        with file:
            child = await self._shell.start(command, file.fileno())
        self._own(child)
        if self._closed:
            await self.close()
            raise ToolError(_CLOSED)
        return child.pid, path

    async def close(self) -> None:
        """End all of them with their groups; done within two seconds. None can be started afterwards."""
        self._closed = True
        await asyncio.gather(*(child.end() for child in self._children))
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    def _own(self, child: Child) -> None:
        self._children.add(child)
        task = asyncio.ensure_future(self._watch(child))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def _watch(self, child: Child) -> None:
        """Let go of a group once it is gone: its number may then belong to somebody else."""
        await asyncio.wait({child.exit})
        await child.group.ended(poll=_POLL)
        self._children.discard(child)
