"""What editors without a plugin run by `workspace/executeCommand`; each takes one optional object."""

from __future__ import annotations

__all__ = [
    "ABORT",
    "ALL",
    "APPROVE",
    "DENY",
    "FOLLOW_UP",
    "NEW_CHAT",
    "OPEN_CHAT",
    "PROMPT",
    "QUOTE",
    "STEER",
    "UNDO_RUN",
]

PROMPT = "pilothouse.prompt"
STEER = "pilothouse.steer"
FOLLOW_UP = "pilothouse.followUp"
ABORT = "pilothouse.abort"
APPROVE = "pilothouse.approve"
DENY = "pilothouse.deny"
NEW_CHAT = "pilothouse.newChat"
OPEN_CHAT = "pilothouse.openChat"
QUOTE = "pilothouse.quote"
UNDO_RUN = "pilothouse.undoRun"

ALL = (PROMPT, STEER, FOLLOW_UP, ABORT, APPROVE, DENY, NEW_CHAT, OPEN_CHAT, QUOTE, UNDO_RUN)
