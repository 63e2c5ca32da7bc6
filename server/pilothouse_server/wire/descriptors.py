"""Private descriptors for the wire, so that no print and no child process can touch it."""

from __future__ import annotations

import os
from typing import NamedTuple

from pilothouse_server.wire.entry import fill_gaps

__all__ = ["Wire", "take_stdio"]


class Wire(NamedTuple):
    """Whoever took it closes both."""

    read: int
    write: int


def take_stdio() -> Wire:
    """Move the wire off descriptors 0 and 1: 0 becomes the null device, 1 becomes stderr.

    The copies block and are not inherited by child processes.
    """
    fill_gaps()
    wire = Wire(os.dup(0), os.dup(1))
    for descriptor in wire:
        os.set_blocking(descriptor, True)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return wire
