"""A shell command from start to end: what it waits for, when it is ended, what is kept of it."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.tools.shell.child import Capture, Child, Program, Spawn, capturing, spawn_process
from pilothouse_agent.tools.shell.family import MARK, Family
from pilothouse_agent.tools.shell.output import CommandOutput
from pilothouse_agent.tools.shell.process_table import Process, title_of

__all__ = ["Cause", "Ending", "Shell"]

logger = logging.getLogger(__name__)

Cause: TypeAlias = Literal["exited", "timedOut", "aborted"]

_LINGER = 0.5
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command came to its end."""

    cause: Cause
    code: int | None = None
    """The exit code, or minus the number of the signal; None: the process could not be collected."""
    stopped_others: bool = False
    """Processes it had left behind were ended with it."""
    running: tuple[str, ...] = ()
    """Processes of it that still run, with their pids: they left its group, or could not be ended."""


class Shell:
    """Runs commands in one folder with one environment."""

    def __init__(
        self, cwd: str, environment: Mapping[str, str], *, name: str = "bash", spawn: Spawn = spawn_process
    ) -> None:
        self.cwd = cwd
        self._environment = environment
        self._name = name
        self._spawn = spawn
        self._mark = secrets.token_hex(8)
        self._count = 0
        self._left: set[Child] = set()
        """Commands that have ended and left processes in sessions of their own."""

    def folder(self) -> str:
        """Where a command would run now: the folder, or the nearest one above it that exists. Blocks."""
        folder = self.cwd
        while not os.path.isdir(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return folder

    async def run(
        self, command: str, output: CommandOutput, *, folder: str, timeout: float, signal: AbortSignal
    ) -> Ending:
        """Run it to its end, its timeout or the abort; afterwards nothing of its group is left.

        What it leaves in sessions of its own when it exits goes on until `close`. Raises `ToolError`
        when it cannot be started.
        """
        async with capturing(self._program(command, folder), spawn=self._spawn) as capture:
            try:
                ending = await _supervise(capture, output, timeout, signal)
            except BaseException:
                await capture.child.end_all()
                raise
            if ending.cause == "exited" and ending.running:
                self._left.add(capture.child)
            return ending

    async def start(self, command: str, output: int, *, folder: str) -> Child:
        """Start it with its output in an open file; its end is the caller's business."""
        program = self._program(command, folder)
        return await Child.start(program, output=output, errors=output, spawn=self._spawn)

    async def close(self) -> None:
        """End what is left of all commands, wherever it has gone; done within two seconds."""
        everything = Family(None, self._mark)
        await asyncio.gather(everything.end(), *(child.end_all() for child in self._left))
        if survivors := await asyncio.to_thread(everything.members):
            pids = [process.pid for process in survivors]
            logger.warning("Processes that commands have left could not be ended: %s", pids)

    def _program(self, command: str, folder: str) -> Program:
        self._count += 1
        mark = f"{self._mark}-{self._count}."
        outer = self._environment.get(MARK, "")
        environment = {**self._environment, MARK: f"{outer}:{mark}" if outer else mark}
        return Program((self._name, "-c", "--", command), folder, environment, mark)


async def _supervise(capture: Capture, output: CommandOutput, timeout: float, signal: AbortSignal) -> Ending:
    child = capture.child
    reading = asyncio.ensure_future(_read_all(capture.output, output))
    try:
        cause = await _first_end(child, timeout, signal)
        if cause == "exited":
            # What it left behind may still be flushing; a silent holder of the pipe must not hold us.
            await asyncio.wait({reading}, timeout=_LINGER)
        others = cause == "exited" and await child.group.lives()
        running = await _end(child) if cause == "exited" else await child.end_all()
        await asyncio.wait({reading}, timeout=_LINGER)
        if reading.done():
            reading.result()
        titles = await asyncio.to_thread(_titles, running) if running else ()
        return Ending(cause, child.code, others, titles)
    finally:
        reading.cancel()


async def _end(child: Child) -> Sequence[Process]:
    await child.end()
    return await child.strays()


def _titles(running: Sequence[Process]) -> tuple[str, ...]:
    return tuple(title_of(process.pid) for process in sorted(running, key=lambda process: process.pid))


async def _first_end(child: Child, timeout: float, signal: AbortSignal) -> Cause:
    aborted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    forget = signal.on_abort(partial(aborted.set_result, None))
    try:
        await asyncio.wait({child.exit, aborted}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        # An abort also cancels this task. That is what the result says then, with the output so far.
        if not signal.aborted:
            raise
        return "aborted"
    finally:
        forget()
    if child.exit.done():
        return "exited"
    return "aborted" if aborted.done() else "timedOut"


async def _read_all(stream: asyncio.StreamReader, output: CommandOutput) -> None:
    while chunk := await stream.read(_CHUNK):
        await output.add(chunk)
