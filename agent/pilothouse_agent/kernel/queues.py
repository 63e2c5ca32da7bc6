"""Steering and follow-up: messages that wait for a turn boundary (Q1 to Q4)."""

from __future__ import annotations

from collections.abc import Collection

from pilothouse_agent.kernel.events import QueuedItem, QueueKind, QueueUpdate
from pilothouse_agent.kernel.messages import UserBlock
from pilothouse_agent.kernel.snapshot import QueueMode

__all__ = ["MessageQueues"]


class MessageQueues:
    """Both queues of one agent. Items leave by delivery, by id, or all at once when a run ends."""

    def __init__(self) -> None:
        self.modes: dict[QueueKind, QueueMode] = {"steering": "one", "followUp": "one"}
        self.closed = False
        """The final poll of a run is over; nothing more is taken until its slot is free (Q2)."""
        self.returned: tuple[QueuedItem, ...] = ()
        """What the run that is ending did not deliver (Q3)."""
        self._items: dict[QueueKind, list[QueuedItem]] = {"steering": [], "followUp": []}
        self._arriving: list[QueuedItem] = []
        """Taken for the next turn, but not delivered yet."""

    def __bool__(self) -> bool:
        return any(self._items.values())

    def add(self, queue_id: str, kind: QueueKind, content: tuple[UserBlock, ...]) -> None:
        self._items[kind].append(QueuedItem(queue_id, kind, content))

    def poll(self, kind: QueueKind) -> list[QueuedItem]:
        """Take what is to be delivered now: the first item or all, as the mode says."""
        items = self._items[kind]
        count = 1 if self.modes[kind] == "one" else len(items)
        taken, items[:] = items[:count], items[count:]
        self._arriving += taken
        return taken

    def next_items(self) -> list[QueuedItem]:
        """Steering before follow-ups (Q1)."""
        return self.poll("steering") or self.poll("followUp")

    def remove(self, queue_ids: Collection[str]) -> tuple[str, ...]:
        """The ids that were still queued, now removed."""
        removed: list[str] = []
        for items in self._items.values():
            removed += [item.queue_id for item in items if item.queue_id in queue_ids]
            items[:] = [item for item in items if item.queue_id not in queue_ids]
        return tuple(removed)

    def deliver(self, item: QueuedItem) -> bool:
        """Whether the item that was taken is still to be delivered, and not handed back meanwhile."""
        if item not in self._arriving:
            return False
        self._arriving.remove(item)
        return True

    def hand_back(self) -> tuple[QueuedItem, ...]:
        """Close; what was not delivered is returned, once."""
        self.closed = True
        items = (*self._arriving, *self._items["steering"], *self._items["followUp"])
        for held in (self._arriving, *self._items.values()):
            held.clear()
        self.returned += items
        return items

    def reopen(self) -> None:
        self.closed = False
        self.returned = ()

    def update(self) -> QueueUpdate:
        return QueueUpdate(tuple(self._items["steering"]), tuple(self._items["followUp"]))
