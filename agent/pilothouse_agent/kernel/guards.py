"""What keeps a run from going round in circles or stopping half-way (L8, L9)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pilothouse_agent.kernel.messages import ToolCall, UserBlock

__all__ = ["LoopGuard", "todo_reminder"]

_WARN_AT = 3
_STOP_AT = 6
_ONLY_WARNED = frozenset({"bash"})


class LoopGuard:
    """Counts how often in a row the same call had the same result."""

    def __init__(self) -> None:
        self._last: tuple[str, str, tuple[UserBlock, ...]] | None = None
        self._count = 0

    def check(self, call: ToolCall, content: tuple[UserBlock, ...]) -> tuple[str | None, bool]:
        """A notice to add to this result, and whether the run is to end here."""
        arguments = call.arguments_text or json.dumps(call.arguments, sort_keys=True)
        seen = (call.name, arguments, content)
        self._count = self._count + 1 if seen == self._last else 1
        self._last = seen
        if self._count < _WARN_AT:
            return None, False
        notice = (
            f"Notice: this is call {self._count} in a row of {call.name} with the same arguments and the "
            "same result. Do something else, or say what keeps you from going on."
        )
        return notice, self._count >= _STOP_AT and call.name not in _ONLY_WARNED


def todo_reminder(unfinished: Sequence[str]) -> str:
    listed = "\n".join(f"- {todo}" for todo in unfinished)
    return (
        f"The todo list still has unfinished items:\n{listed}\n"
        "Go on with them, or update the list if they are done or no longer needed."
    )
