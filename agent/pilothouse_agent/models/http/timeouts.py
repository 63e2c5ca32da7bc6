"""How long a model is waited for. Apart from the connection, which takes a while to load."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Timeouts"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds."""

    connect: float = 15.0
    idle: float = 120.0
    """The longest silence: before the first byte, and between any two. Comments break it."""
    rest: float = 2.0
    """For what may come behind the end of an answer: its usage, or an error that says more."""
