"""What one part of a call means for the whole."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_agent.permissions.layers import Effect
from pilothouse_agent.permissions.rules import Ruling

__all__ = ["ALLOWED", "Finding", "visible"]


@dataclass(frozen=True, slots=True)
class Finding:
    effect: Effect
    reason: str = ""
    """Half a sentence, for ask and deny."""
    grave: bool = False
    """Outside the workspace, or protected."""
    plain_change: bool = False
    """It asks only because a file in the workspace would change."""

    @classmethod
    def of(cls, ruling: Ruling) -> Finding:
        verb = "forbids it" if ruling.effect == "deny" else "asks for approval"
        return cls(ruling.effect, f"{ruling.rule} {verb}")


ALLOWED = Finding("allow")


def visible(text: str) -> str:
    """The text with characters that a display would hide or reorder written as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
