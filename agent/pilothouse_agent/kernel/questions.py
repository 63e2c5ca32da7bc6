"""Permission verdicts, the questions they lead to, and the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pilothouse_agent.kernel.events import Option, ToolKind
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.tooling import Footprint, Preview, Risk

__all__ = ["Answer", "PermissionRequest", "Question", "Verdict"]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    call: ToolCall
    kind: ToolKind
    footprint: Footprint
    command: str | None
    """The shell command, when the call runs one."""


@dataclass(frozen=True, slots=True)
class Verdict:
    decision: Literal["allow", "deny", "ask"]
    reason: str = ""
    """For deny: what the model is told. For ask: why it is asked."""
    risk: Risk = "medium"
    options: tuple[Option, ...] = ()
    """For ask: what can be answered; at least one rejectOnce."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    call: ToolCall
    kind: ToolKind
    title: str
    risk: Risk
    options: tuple[Option, ...]
    preview: Preview | None = None
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    option_id: str
    reason: str | None = None
    stop: bool = False
    """End the run as well."""
    by: str = "user"
