"""How a call ended, whatever became of it, and the texts the model is told."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_agent.kernel.events import Outcome
from pilothouse_agent.kernel.messages import TextBlock, UserBlock
from pilothouse_agent.kernel.tooling import ToolResult

__all__ = ["CallEnd", "aborted", "blocked", "denied", "failed", "finished", "refused"]


@dataclass(frozen=True, slots=True)
class CallEnd:
    outcome: Outcome
    result: ToolResult

    def with_notice(self, notice: str) -> CallEnd:
        content: tuple[UserBlock, ...] = (*self.result.content, TextBlock(notice))
        return CallEnd(self.outcome, ToolResult(content, self.result.is_error))


def finished(result: ToolResult) -> CallEnd:
    return CallEnd("error" if result.is_error else "ok", result)


def failed(text: str) -> CallEnd:
    return CallEnd("error", ToolResult.text(text, is_error=True))


def blocked(reason: str) -> CallEnd:
    return CallEnd("blocked", ToolResult.text(f"Blocked: {reason}", is_error=True))


def refused(reason: str) -> CallEnd:
    """By the permissions, without a question."""
    return CallEnd("denied", ToolResult.text(reason, is_error=True))


def denied(reason: str | None) -> CallEnd:
    """By the answer to a question."""
    text = f"Denied: {reason}" if reason else "Denied by the user."
    return CallEnd("denied", ToolResult.text(text, is_error=True))


def aborted(text: str = "Aborted: the call did not run.") -> CallEnd:
    return CallEnd("aborted", ToolResult.text(text, is_error=True))
