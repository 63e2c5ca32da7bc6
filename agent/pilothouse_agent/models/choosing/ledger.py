"""What was asked of models, and what it cost: one entry a request, never changed afterwards.

It also holds what the conversation does not keep: answers that failed and were asked for again, summaries,
and turns that were left out to save room.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import Purpose

__all__ = ["Entry", "Ledger"]


@dataclass(frozen=True, slots=True)
class Entry:
    time: datetime
    """When the answer had ended."""
    model: str
    purpose: Purpose
    usage: Usage | None
    """With the cost at that time; None: the provider did not say."""


class Ledger:
    def __init__(self) -> None:
        self._entries: dict[str, list[Entry]] = {}
        self._totals: dict[str, Usage] = {}

    def add(self, session_id: str, model: str, purpose: Purpose, usage: Usage | None) -> None:
        self._entries.setdefault(session_id, []).append(Entry(datetime.now(UTC), model, purpose, usage))
        if usage is not None:
            total = self._totals.get(session_id)
            self._totals[session_id] = usage if total is None else total + usage

    def entries(self, session_id: str) -> tuple[Entry, ...]:
        return tuple(self._entries.get(session_id, ()))

    def total(self, session_id: str) -> Usage | None:
        """The sum over the session's entries; None where none has a usage."""
        return self._totals.get(session_id)
