"""The seam for those who keep what was done to files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pilothouse_agent.kernel.ports import FileChange

__all__ = ["ChangeRecorder", "Remains"]


@dataclass(frozen=True, slots=True)
class Remains:
    """What a deleted file was, so that just this can come back."""

    data: bytes
    mode: int


class ChangeRecorder(Protocol):
    async def foretell(self, change: FileChange, call_id: str) -> None:
        """Told before a change that may be cut off half-way; `record` follows with it when it is made.
        Raises nothing."""
        ...

    async def record(self, change: FileChange, call_id: str, remains: Remains | None) -> None:
        """Told after each change, still in the file's queue turn. Raises nothing.

        `remains`: of a deleted file; None for a link.
        """
        ...
