"""Which calls of a batch must wait for which, so that the outcome is as if serial (T2)."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pilothouse_agent.kernel.tooling import Footprint, Touch

__all__ = ["conflicts", "dependencies"]


def dependencies(footprints: Sequence[Footprint]) -> list[list[int]]:
    """For each call the earlier ones it must wait for, by index."""
    return [
        [earlier for earlier in range(later) if conflicts(footprints[earlier], footprints[later])]
        for later in range(len(footprints))
    ]


def conflicts(first: Footprint, second: Footprint) -> bool:
    """Whether either writes what the other reads or writes."""
    return _writes_into(first, second) or _writes_into(second, first)


def _writes_into(writer: Footprint, other: Footprint) -> bool:
    if writer.extent == "touchesEverything":
        return not _touches_nothing(other)
    if not writer.writes:
        return False
    if other.extent != "named":
        return True
    return any(_overlap(mine, theirs) for mine in writer.writes for theirs in (*other.reads, *other.writes))


def _touches_nothing(footprint: Footprint) -> bool:
    return footprint.extent == "named" and not footprint.reads and not footprint.writes


def _overlap(one: Touch, two: Touch) -> bool:
    return one.path == two.path or _covers(one, two.path) or _covers(two, one.path)


def _covers(touch: Touch, path: str) -> bool:
    return touch.subtree and path.startswith(touch.path.rstrip(os.sep) + os.sep)
