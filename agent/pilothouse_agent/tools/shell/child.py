"""Child processes: how every one is started, owned and ended."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.shell.family import Family
from pilothouse_agent.tools.shell.own_children import OWN_CHILDREN
from pilothouse_agent.tools.shell.process_group import ProcessGroup
from pilothouse_agent.tools.shell.process_table import Process

__all__ = ["Capture", "Child", "Program", "RunningProcess", "Spawn", "capturing", "spawn_process"]

TERM_GRACE = 0.5
KILL_LIMIT = 1.0
_PIPE_BUFFER = 65_536


@dataclass(frozen=True, slots=True)
class Program:
    """What is to run, where, and with which environment."""

    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    mark: str = ""
    """What the environment of all that it starts holds; empty where nothing but its group is looked for."""


class RunningProcess(Protocol):
    """The part of `asyncio.subprocess.Process` that is relied on."""

    @property
    def pid(self) -> int: ...

    async def wait(self) -> int:
        """The exit code, or minus the number of the signal that killed it."""
        ...


class Spawn(Protocol):
    async def __call__(self, program: Program, *, output: int, errors: int) -> RunningProcess: ...


async def spawn_process(program: Program, *, output: int, errors: int) -> RunningProcess:
    """Start it in a session of its own (no terminal), with nothing to read; the descriptors stay ours."""
    return await asyncio.create_subprocess_exec(
        *program.argv,
        cwd=program.cwd,
        env=program.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )


class Child:
    """A process with its group. Whoever starts it awaits `end` in the end, on every path."""

    def __init__(self, process: RunningProcess, family: Family | None = None) -> None:
        self.pid = process.pid
        self.group = ProcessGroup(process.pid)
        self.family = family
        """All that it has started; None where nothing but its group is looked for."""
        self.exit = asyncio.ensure_future(process.wait())
        """Done when the process is; not to be cancelled."""
        self._ending: asyncio.Future[None] | None = None
        self._ending_all: asyncio.Future[Sequence[Process]] | None = None
        OWN_CHILDREN.add(self.pid)
        self.exit.add_done_callback(lambda _: OWN_CHILDREN.discard(self.pid))

    @classmethod
    async def start(
        cls, program: Program, *, output: int, errors: int, spawn: Spawn = spawn_process
    ) -> Child:
        """Raises `ToolError` when it cannot be started. Cancelled meanwhile, it ends what has started."""
        starting = asyncio.ensure_future(cls._started(program, output, errors, spawn))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait({starting})
            if not starting.cancelled() and not starting.exception():
                await starting.result().end()
            raise
        except (OSError, ValueError) as error:
            raise ToolError(await asyncio.to_thread(_why_not_started, program, error)) from error

    @classmethod
    async def _started(cls, program: Program, output: int, errors: int, spawn: Spawn) -> Child:
        await OWN_CHILDREN.adopt_orphans()
        with OWN_CHILDREN.starting():
            process = await spawn(program, output=output, errors=errors)
            return cls(process, Family(process.pid, program.mark) if program.mark else None)

    @property
    def code(self) -> int | None:
        """The exit code, minus a signal's number, or None while it runs or cannot be collected."""
        return self.exit.result() if self.exit.done() and not self.exit.cancelled() else None

    async def end(self) -> None:
        """End the whole group: a request, half a second, then by force; done within two seconds.

        Goes on in the background when its caller is cancelled.
        """
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
        await asyncio.shield(self._ending)

    async def end_all(self) -> Sequence[Process]:
        """As `end`, for all that it has started, wherever that has gone; what could not be ended."""
        if self._ending_all is None:
            self._ending_all = asyncio.ensure_future(self._end_all())
        return await asyncio.shield(self._ending_all)

    async def strays(self) -> Sequence[Process]:
        """What it has started and runs outside of its group; to be asked once, right after `end`."""
        if self.family is None:
            return ()
        found = await asyncio.to_thread(self.family.members)
        if self.exit.done() and not self.group.send(0):
            self.family.leader_is_gone()
        return found

    async def _end(self) -> None:
        try:
            if await self._is_gone(0):
                return
            self.group.send(signal.SIGTERM)
            if not await self._is_gone(TERM_GRACE):
                self.group.send(signal.SIGKILL)
                await self._is_gone(KILL_LIMIT)
        except asyncio.CancelledError:
            self.group.send(signal.SIGKILL)
            raise
        finally:
            self.exit.cancel()

    async def _end_all(self) -> Sequence[Process]:
        family = self.family
        if family is None:
            await self.end()
            return ()
        try:
            # Where only parents tell who belongs to it, these must still be there.
            await asyncio.to_thread(family.members)
            await asyncio.gather(self.end(), family.end())
            return await asyncio.to_thread(family.members)
        except asyncio.CancelledError:
            self.group.send(signal.SIGKILL)
            family.kill_known()
            raise

    async def _is_gone(self, limit: float) -> bool:
        """Wait for the process and its group."""
        try:
            async with asyncio.timeout(limit):
                await asyncio.shield(self.exit)
                await self.group.ended()
        except TimeoutError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Capture:
    """A running child and what it prints."""

    child: Child
    output: asyncio.StreamReader
    errors: asyncio.StreamReader
    """The same as `output` unless they were asked for apart."""


@asynccontextmanager
async def capturing(
    program: Program, *, apart: bool = False, spawn: Spawn = spawn_process
) -> AsyncGenerator[Capture]:
    """Run a child with its output in a pipe, errors merged into it unless `apart`; leaving ends its group."""
    async with AsyncExitStack() as stack:
        output = await stack.enter_async_context(_pipe())
        errors = await stack.enter_async_context(_pipe()) if apart else output
        child = await Child.start(program, output=output.entry, errors=errors.entry, spawn=spawn)
        stack.push_async_callback(child.end)
        # Without our copies of the writing ends, the pipes end when the last process lets go.
        output.close_entry()
        errors.close_entry()
        yield Capture(child, output.reader, errors.reader)


class _Pipe:
    def __init__(self) -> None:
        self.reader = asyncio.StreamReader(limit=_PIPE_BUFFER)
        self.exit, self.entry = os.pipe()

    def close_entry(self) -> None:
        if self.entry >= 0:
            os.close(self.entry)
            self.entry = -1


@asynccontextmanager
async def _pipe() -> AsyncGenerator[_Pipe]:
    pipe = _Pipe()
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(pipe.reader), os.fdopen(pipe.exit, "rb", buffering=0)
        )
        try:
            yield pipe
        finally:
            transport.close()
    finally:
        pipe.close_entry()


def _why_not_started(program: Program, error: OSError | ValueError) -> str:
    name = program.argv[0]
    if not os.path.isdir(program.cwd):
        return f"The working folder {program.cwd} does not exist. Create it, or work in another one."
    if isinstance(error, FileNotFoundError):
        return f"The program {name!r} was not found. Install it, or put its folder into PATH."
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return "The command is too long for this system. Write it into a file and run that file."
    return f"The program {name!r} could not be started: {error}."
