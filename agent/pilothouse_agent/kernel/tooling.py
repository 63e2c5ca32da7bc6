"""What tools say about a call and give back from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.events import FileChanged, Location, TodoUpdate
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import TextBlock, UserBlock

__all__ = [
    "Denied",
    "Effect",
    "Extent",
    "FileDiff",
    "Footprint",
    "Hunk",
    "InvalidArguments",
    "Preview",
    "Risk",
    "ToolError",
    "ToolResult",
    "Touch",
    "Violation",
]

Risk = Literal["low", "medium", "high"]
Extent = Literal["named", "readsEverything", "touchesEverything"]
Effect: TypeAlias = FileChanged | TodoUpdate


class ToolError(Exception):
    """A tool could not do what was asked; the text goes to the model and says what to do next."""

    def __init__(self, text: str, *, effects: tuple[Effect, ...] = ()) -> None:
        """`effects`: events of what was done all the same."""
        super().__init__(text)
        self.effects = effects


class Denied(ToolError):
    """The user, or a rule, did not allow what a call had come to; the text goes to the model."""


@dataclass(frozen=True, slots=True)
class Violation:
    path: str
    """Where in the arguments, dotted: `edits.0.old_text`; empty for the whole."""
    message: str


class InvalidArguments(Exception):
    """The arguments do not fit the tool's schema; `note` is what the model needs to see with it."""

    def __init__(self, violations: tuple[Violation, ...], note: str = "") -> None:
        super().__init__("; ".join(f"{v.path or 'arguments'}: {v.message}" for v in violations))
        self.violations = violations
        self.note = note


@dataclass(frozen=True, slots=True)
class Touch:
    """One path a call reads or writes; with `subtree`, all below it too."""

    path: str
    """Absolute and real (symlinks resolved)."""
    subtree: bool = False


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a call touches, for scheduling and permissions. Empty means it touches nothing."""

    reads: tuple[Touch, ...] = ()
    writes: tuple[Touch, ...] = ()
    extent: Extent = "named"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One changed region, both line numbers from 1, lines with their endings; context included."""

    old_start: int
    new_start: int
    lines: tuple[str, ...]
    """Each begins with a blank (kept), `-` (removed) or `+` (added)."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    path: str
    """Absolute."""
    old_text: str | None
    """None: the file does not exist yet."""
    new_text: str | None
    """None: the file is deleted."""
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What the user is shown before saying yes."""

    diffs: tuple[FileDiff, ...] = ()
    command: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    content: tuple[UserBlock, ...]
    is_error: bool = False
    details: JsonObject | None = None
    """For displays; the model does not see it."""
    locations: tuple[Location, ...] = ()
    effects: tuple[Effect, ...] = ()
    """Events to publish before the call's end."""
    terminate: bool = False
    """Ask that no request follows; heeded when every result of the batch asks (kernel.md T9)."""

    @classmethod
    def text(cls, text: str, *, is_error: bool = False) -> ToolResult:
        return cls((TextBlock(text),), is_error=is_error)
