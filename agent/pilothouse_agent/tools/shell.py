"""A shell command from start to end: what it waits for, when it is ended, what is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.tools.child import Capture, Child, Program, Spawn, capturing, spawn_process
from pilothouse_agent.tools.output import CommandOutput

__all__ = ["Cause", "Ending", "Shell"]

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


class Shell:
    """Runs commands in one folder with one environment."""

    def __init__(
        self, cwd: str, environment: Mapping[str, str], *, name: str = "bash", spawn: Spawn = spawn_process
    ) -> None:
        self._cwd = cwd
        self._environment = environment
        self._name = name
        self._spawn = spawn

    async def run(
        self, command: str, output: CommandOutput, *, timeout: float, signal: AbortSignal
    ) -> Ending:
        """Run it to its end, its timeout or the abort; afterwards nothing of its group is left.

        Raises `ToolError` when it cannot be started.
        """
        async with capturing(self._program(command), spawn=self._spawn) as capture:
            return await _supervise(capture, output, timeout, signal)

    async def start(self, command: str, output: int) -> Child:
        """Start it with its output in an open file; its end is the caller's business."""
        return await Child.start(self._program(command), output=output, errors=output, spawn=self._spawn)

    def _program(self, command: str) -> Program:
        return Program((self._name, "-c", "--", command), self._cwd, self._environment)


async def _supervise(capture: Capture, output: CommandOutput, timeout: float, signal: AbortSignal) -> Ending:
    child = capture.child
    reading = asyncio.ensure_future(_read_all(capture.output, output))
    try:
        cause = await _first_end(child, timeout, signal)
        if cause == "exited":
            # What it left behind may still be flushing; a silent holder of the pipe must not hold us.
            await asyncio.wait({reading}, timeout=_LINGER)
        others = cause == "exited" and await child.group.lives()
        await child.end()
        await asyncio.wait({reading}, timeout=_LINGER)
        if reading.done():
            reading.result()
        return Ending(cause, child.code, others)
    finally:
        reading.cancel()


async def _first_end(child: Child, timeout: float, signal: AbortSignal) -> Cause:
    aborted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    forget = signal.on_abort(partial(aborted.set_result, None))
    try:
        await asyncio.wait({child.exit, aborted}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
    if child.exit.done():
        return "exited"
    return "aborted" if aborted.done() else "timedOut"


async def _read_all(stream: asyncio.StreamReader, output: CommandOutput) -> None:
    while chunk := await stream.read(_CHUNK):
        await output.add(chunk)
