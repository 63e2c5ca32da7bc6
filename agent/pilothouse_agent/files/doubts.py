"""Files whose state nobody knows, as the model is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pilothouse_agent.files.disk_threads import in_thread
from pilothouse_agent.files.record import ReadRecord
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["Doubts"]

_NAMING_LIMIT = 1.0


class Doubts:
    """Over one session's read record: a doubt ends when the file has been read again (kernel.md T7)."""

    def __init__(self, record: ReadRecord, show: Callable[[str], str]) -> None:
        """`show` shortens paths in messages and may look at the disk."""
        self._record = record
        self._show = show

    async def refuse(self, paths: Sequence[str]) -> None:
        for path in paths:
            if self._record.in_doubt(path):
                raise ToolError(
                    f"An earlier write to {await self.named(path)} had an unknown outcome. Read it again "
                    "with read_file before it is changed."
                )

    async def unbegun(self, paths: Sequence[str], limit: float) -> ToolError:
        """A change was given up before it had begun to write."""
        return ToolError(
            f"Looking at {await self.named(*paths)} took longer than {limit:g} s. Nothing was changed; try "
            "again."
        )

    async def unended(self, paths: Sequence[str], limit: float) -> ToolError:
        """A change did not come to an end within so many seconds."""
        for path in paths:
            self._record.doubt(path)
        return ToolError(
            f"Outcome unknown: the change of {await self.named(*paths)} did not come to an end within "
            f"{limit:g} s. Read it again with read_file before it is changed."
        )

    async def named(self, *paths: str) -> str:
        """As messages name them; whole where the file system does not answer."""
        try:
            async with asyncio.timeout(_NAMING_LIMIT):
                return await in_thread(lambda: " and ".join(map(self._show, paths)))
        except TimeoutError:
            return " and ".join(paths)
