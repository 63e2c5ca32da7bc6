"""How much runs without a question."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ApprovalMode"]


class ApprovalMode(StrEnum):
    """What becomes of a call that no rule allows or denies; strictest first."""

    NONE = "none"
    """Everything that would ask is denied."""
    READ_ONLY = "readOnly"
    """Nothing is changed: edits and commands not known to be read-only are denied, whatever rules say."""
    ASK = "ask"
    EDITS = "edits"
    """File changes inside the workspace are allowed, the rest asks."""
    ALL = "all"
    """Everything that would ask is allowed; a deny still denies."""

    def is_looser_than(self, other: ApprovalMode) -> bool:
        order = list(ApprovalMode)
        return order.index(self) > order.index(other)
