"""The bash tool in a folder, and what a test wants to know of its processes."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path

from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.ports import Invocation
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_agent.tools.shell.background import BackgroundProcesses
from pilothouse_agent.tools.shell.bash import BashTool
from pilothouse_agent.tools.shell.child import Spawn, spawn_process
from pilothouse_agent.tools.shell.environment import child_environment
from pilothouse_agent.tools.shell.output import OutputLimits
from pilothouse_agent.tools.shell.running import Shell
from support.context import RecordingContext

__all__ = ["Bash", "NoPlan", "Watched", "file_of", "pids", "runs", "said"]


class Watched(RecordingContext):
    """A context whose progress can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    @property
    def seen(self) -> str:
        return "".join(self.progress_texts)

    def progress(self, text: str) -> None:
        super().progress(text)
        self._changed.set()

    async def until(self, text: str) -> None:
        async with asyncio.timeout(5):
            while text not in self.seen:
                self._changed.clear()
                await self._changed.wait()


class NoPlan:
    """Planned files of a batch that has no other calls."""

    uncertain = False

    def mark_uncertain(self) -> None:
        raise NotImplementedError

    async def text(self, path: str) -> None:
        raise NotImplementedError

    def put(self, path: str, text: str | None) -> None:
        raise NotImplementedError


class Bash:
    """The tool in a folder, and a short way to call it."""

    def __init__(
        self,
        folder: Path,
        *,
        environment: dict[str, str] | None = None,
        name: str = "bash",
        spawn: Spawn = spawn_process,
        limits: OutputLimits | None = None,
        read_only: Callable[[str], bool] = lambda command: False,
    ) -> None:
        self.outputs = folder.parent / "outputs"
        shell = Shell(str(folder), environment or child_environment(os.environ), name=name, spawn=spawn)
        self.background = BackgroundProcesses(shell, self.outputs)
        self.tool = BashTool(shell, self.background, self.outputs, limits=limits, read_only=read_only)

    async def __call__(
        self, command: str, context: Watched | None = None, **arguments: bool | float
    ) -> ToolResult:
        async with asyncio.timeout(10):
            return await (await self.bind(command, **arguments)).execute(context or Watched())

    async def bind(self, command: str, **arguments: bool | float) -> Invocation:
        """As the kernel does, in a thread."""
        return await asyncio.to_thread(self.tool.bind, {"command": command, **arguments})


def said(result: ToolResult) -> tuple[str, bool]:
    return text_of(result.content), result.is_error


def file_of(result: ToolResult) -> Path:
    assert result.details is not None
    return Path(str(result.details["outputFile"]))


def runs(pid: int) -> bool:
    """Zombies that nobody collects do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pids(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"pid (\d+)", text)]
