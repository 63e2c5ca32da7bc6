"""A change of a file that stops in the middle of its queue turn until it is let go."""

from __future__ import annotations

import asyncio
import threading

from pilothouse_agent.kernel.ports import FileText

__all__ = ["SlowChange"]

_LIMIT = 5.0


class SlowChange:
    """Pass it as the change of `FilePort.edit`; it runs in a thread and blocks there."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self._loop = asyncio.get_running_loop()
        self._begun = asyncio.Event()
        self._let_go = threading.Event()
        self.ended = threading.Event()

    def __call__(self, file: FileText | None) -> str:
        assert file is not None
        self._loop.call_soon_threadsafe(self._begun.set)
        assert self._let_go.wait(_LIMIT)
        self.ended.set()
        return file.text.replace(self._old, self._new)

    async def begun(self) -> None:
        await asyncio.wait_for(self._begun.wait(), _LIMIT)

    def let_go(self) -> None:
        self._let_go.set()
