"""Commands that go on after their call, owned until the session ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.shell.child import Child
from pilothouse_agent.tools.shell.exit_words import exit_words
from pilothouse_agent.tools.shell.output_file import create_output_file
from pilothouse_agent.tools.shell.running import Shell
from pilothouse_agent.tools.visible import visible

__all__ = ["BackgroundProcesses", "Started"]

_CLOSED = "The session is ending; no command is started any more."
_POLL = 1.0
_EARLY = 0.3
_TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Started:
    """A command that was started to go on."""

    pid: int
    """Of its process group."""
    path: str
    """Of the file that gets its output; the last line says how it ended."""
    code: int | None = None
    """Of one that has ended already, with all of its group."""


class BackgroundProcesses:
    """Starts commands that nobody waits for; `close` ends what is left of all of them."""

    def __init__(self, shell: Shell, folder: Path, *, early: float = _EARLY) -> None:
        """`folder` gets one file of output a command; `early` are the seconds in which an end is seen."""
        self._shell = shell
        self._folder = folder
        self._early = early
        self._children: set[Child] = set()
        self._watching: set[asyncio.Task[None]] = set()
        self._ended: list[str] = []
        self._closed = False

    async def start(self, command: str, *, folder: str) -> Started:
        """Raises `ToolError`. One that ends at once is told of here only; cancelled, it is ended."""
        if self._closed:
            raise ToolError(_CLOSED)
        try:
            file, path = await asyncio.to_thread(create_output_file, self._folder, "background-")
        except OSError as error:
            raise ToolError(f"No file for its output can be made in {self._folder}: {error}.") from error
        with file:
            child = await self._shell.start(command, file.fileno(), folder=folder)
        self._children.add(child)
        if self._closed:
            await self.close()
            raise ToolError(_CLOSED)
        ended = await self._ends_early(child, path)
        if not ended:
            self._watch(child, path, command)
        return Started(child.pid, path, child.code if ended else None)

    def take(self) -> Sequence[tuple[str, str]]:
        """Implements the kernel's `NewsSource`: what has ended since the last time."""
        ended, self._ended = self._ended, []
        return [("background", "\n".join(ended))] if ended else []

    async def close(self) -> None:
        """End all of them with what they have started; done within two seconds. None can be started then."""
        self._closed = True
        await asyncio.gather(*(child.end_all() for child in self._children))
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    async def _ends_early(self, child: Child, path: str) -> bool:
        try:
            await asyncio.wait({child.exit}, timeout=self._early)
            if not child.exit.done() or await child.group.lives():
                return False
        except asyncio.CancelledError:
            await child.end_all()
            raise
        self._children.discard(child)
        await asyncio.to_thread(_note_end, path, child.code)
        return True

    def _watch(self, child: Child, path: str, command: str) -> None:
        task = asyncio.ensure_future(self._until_ended(child, path, command))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def _until_ended(self, child: Child, path: str, command: str) -> None:
        """Let go of a group once it is gone: its number may then belong to somebody else."""
        await asyncio.wait({child.exit})
        await child.group.ended(poll=_POLL)
        if self._closed:
            return
        shown = visible(command)
        shown = shown if len(shown) <= _TITLE_LENGTH else f"{shown[: _TITLE_LENGTH - 1]}…"
        self._ended.append(
            f"The background command with process id {child.pid} ({shown}) has ended: "
            f"{_words(child.code)}. Its output is in {path}."
        )
        await asyncio.to_thread(_note_end, path, child.code)
        await child.end()
        if await child.strays() and child.family is not None:
            await child.family.ended(poll=_POLL)
        self._children.discard(child)


def _words(code: int | None) -> str:
    return "its exit code could not be found out" if code is None else exit_words(code)


def _note_end(path: str, code: int | None) -> None:
    """As the last line of its output, on a line of its own."""
    with suppress(OSError), open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        between = b"\n" if size and file.read(1) != b"\n" else b""
        file.seek(0, os.SEEK_END)
        file.write(between + f"[{_words(code)}]\n".encode())
