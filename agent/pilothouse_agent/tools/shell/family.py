"""All that a command has started, wherever it has gone."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Collection
from contextlib import suppress

from pilothouse_agent.tools.shell.own_children import OWN_CHILDREN
from pilothouse_agent.tools.shell.process_table import Process, environment_of, now, processes

__all__ = ["MARK", "Family"]

MARK = "PILOTHOUSE_COMMAND"
"""The variable by which the processes of a command are known, also after they have lost their parents."""

_TOLERANCE = 200
_TERM_GRACE = 0.5
_KILL_LIMIT = 1.0
_EMPTY_LOOKS = 2


class Family:
    """The processes below a command's shell, of its group and session, and those that carry its mark.

    An orphan without any mark that has fallen to this process meanwhile counts as one of them.
    """

    def __init__(self, pid: int | None, mark: str) -> None:
        """Without `pid` it is known by its mark alone."""
        self._pid = pid
        self._mark = mark.encode()
        self._since = now() - _TOLERANCE
        self._known: dict[int, int] = {}
        """When those started that were seen."""
        self._asked: set[tuple[int, int, int]] = set()
        self._led = pid is not None

    def leader_is_gone(self) -> None:
        """Its pid may belong to somebody else from now on."""
        self._led = False

    def members(self) -> list[Process]:
        """Those that run. Blocks."""
        table = processes(self._pid or 0)
        OWN_CHILDREN.collect(table)
        below: dict[int, list[Process]] = {}
        for process in table:
            below.setdefault(process.parent, []).append(process)
        found: dict[int, Process] = {}
        pending = [process for process in table if self._is_one(process)]
        while pending:
            process = pending.pop()
            if process.pid not in found and process.pid != os.getpid():
                found[process.pid] = process
                pending += below.get(process.pid, ())
        living = [process for process in found.values() if not process.ended]
        self._known = {process.pid: process.started for process in living}
        return living

    def send(self, number: int, members: Collection[Process]) -> None:
        """Once to each; the group of the command has it from elsewhere."""
        for process in members:
            asked = (process.pid, process.started, number)
            if asked not in self._asked and not (self._led and process.group == self._pid):
                self._asked.add(asked)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, number)

    def kill_known(self) -> None:
        """At once, without another look."""
        for pid in self._known:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    async def end(self) -> None:
        """End all: a request, half a second, then by force; done within two seconds."""
        for number, limit in ((signal.SIGTERM, _TERM_GRACE), (signal.SIGKILL, _KILL_LIMIT)):
            try:
                async with asyncio.timeout(limit):
                    return await self.ended(number)
            except TimeoutError:
                continue

    async def ended(self, number: int = 0, *, poll: float = 0.02) -> None:
        """Wait until none runs; `number` is sent to those that come up meanwhile."""
        empty = 0
        # One look may miss a process that has just passed on its work to a new one.
        while empty < _EMPTY_LOOKS:
            members = await asyncio.to_thread(self.members)
            empty = 0 if members else empty + 1
            if number:
                self.send(number, members)
            await asyncio.sleep(poll if members else 0)

    def _is_one(self, process: Process) -> bool:
        if self._known.get(process.pid) == process.started:
            return True
        if process.started and process.started < self._since:
            return False
        if self._led and self._pid in (process.pid, process.group, process.session):
            return True
        if process.ended:
            return False
        environment = environment_of(process.pid)
        return self._mark in environment or (
            self._led and MARK.encode() not in environment and OWN_CHILDREN.is_orphan(process)
        )
