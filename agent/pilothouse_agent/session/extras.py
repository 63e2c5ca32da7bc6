"""What a session is given by whoever it works for, beyond what every session has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.ports import FileChange, NewsSource, Tool

__all__ = ["Extras"]


@dataclass(frozen=True, slots=True)
class Extras:
    tools: tuple[Tool, ...] = ()
    """Rules may name them; those that settings name before there is a session are `OPTIONAL_TOOL_NAMES`."""
    hooks: Hooks = field(default_factory=Hooks)
    changed: Callable[[FileChange], Awaitable[None]] | None = None
    """Told of every change of a file, in its queue turn."""
    news: NewsSource | None = None
    close: Callable[[], object] | None = None
    """Called when the session ends."""
    before_command: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Run before each shell command; what it gives is added to the command's result."""
