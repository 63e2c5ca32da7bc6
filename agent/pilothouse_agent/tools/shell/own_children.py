"""Which child processes are ours, and which have only fallen to this process by its own wish."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pilothouse_agent.tools.shell.process_table import Process

__all__ = ["OWN_CHILDREN", "OwnChildren"]

_PR_SET_CHILD_SUBREAPER = 36
_REMEMBERED = 64
"""Children of ours that have just ended; pids are given out in turn, so none comes back as soon as that."""


class OwnChildren:
    """Children that somebody here waits for. Others are orphans of theirs, which nobody else collects."""

    def __init__(self) -> None:
        self.ours = False
        """The process is ours alone, and not that of somebody who has embedded us: it may take orphans."""
        self._adopting = False
        self._pids: set[int] = set()
        self._gone: deque[int] = deque(maxlen=_REMEMBERED)
        self._starting = 0

    async def adopt_orphans(self) -> None:
        """Where that is ours to say, get the orphans of all below, in place of the system's first process."""
        if self.ours and not self._adopting and sys.platform == "linux":
            self._adopting = await asyncio.to_thread(_become_subreaper)

    @contextmanager
    def starting(self) -> Generator[None]:
        """Around the start of a child, whose pid is not known yet."""
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1

    def add(self, pid: int) -> None:
        self._pids.add(pid)

    def discard(self, pid: int) -> None:
        # Whoever looks through a table of processes, in a thread, may have seen it before it ended.
        self._gone.append(pid)
        self._pids.discard(pid)

    def is_orphan(self, process: Process) -> bool:
        """Whether it has fallen to us. Those of our session were started by somebody in this process."""
        return (
            self._adopting
            and process.parent == os.getpid()
            and process.session != os.getsid(0)
            # In this order: what stands in the table and is not starting any more has been added.
            and self._starting == 0
            and process.pid not in self._pids
            and process.pid not in self._gone
        )

    def collect(self, processes: Iterable[Process]) -> None:
        """Let the system forget orphans that have ended."""
        for process in processes:
            if process.ended and self.is_orphan(process):
                with suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)


def _become_subreaper() -> bool:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    return bool(library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


OWN_CHILDREN = OwnChildren()
"""Of this process; there is one, as the system has one."""
