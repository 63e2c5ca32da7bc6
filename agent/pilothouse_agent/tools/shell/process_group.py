"""The process group a child leads: everything it starts, unless that opens a session of its own."""

from __future__ import annotations

import asyncio
import os

from pilothouse_agent.tools.shell.own_children import OWN_CHILDREN
from pilothouse_agent.tools.shell.process_table import processes

__all__ = ["ProcessGroup"]


class ProcessGroup:
    """Known by the pid of its leader, which the system keeps from reuse while the group has members."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def send(self, number: int) -> bool:
        """Signal all members (0 only asks); False when there are none that we may signal."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    async def lives(self) -> bool:
        """Whether a member still runs; the dead that nobody has collected do not count."""
        return self.send(0) and await asyncio.to_thread(_runs, self.pid)

    async def ended(self, *, poll: float = 0.02) -> None:
        """Wait until no member runs, looking every `poll` seconds."""
        while await self.lives():  # noqa: ASYNC110 (the system tells nobody when a group has emptied)
            await asyncio.sleep(poll)


def _runs(group: int) -> bool:
    """In a container without an init process, orphans stay zombies for ever and keep their group."""
    table = processes()
    OWN_CHILDREN.collect(table)
    return any(process.group == group and not process.ended for process in table)
