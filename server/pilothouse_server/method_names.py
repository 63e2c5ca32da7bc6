"""Names of the methods, apart from their models so that a light client need not load those."""

from __future__ import annotations

__all__ = [
    "ABORT",
    "CANCEL",
    "EVENT",
    "EXIT",
    "INITIALIZE",
    "INITIALIZED",
    "PROMPT",
    "REQUEST_APPROVAL",
    "SESSION_NEW",
    "SHUTDOWN",
]

INITIALIZE = "initialize"
INITIALIZED = "initialized"
SHUTDOWN = "shutdown"
EXIT = "exit"
CANCEL = "$/cancelRequest"

PROMPT = "agent/prompt"
ABORT = "agent/abort"
SESSION_NEW = "session/new"
EVENT = "agent/event"
REQUEST_APPROVAL = "agent/requestApproval"
