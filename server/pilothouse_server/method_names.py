"""Names of the methods, apart from their models so that a light client need not load those."""

from __future__ import annotations

__all__ = [
    "ABORT",
    "ANSWER",
    "CANCEL",
    "EVENT",
    "EVENTS",
    "EXIT",
    "FOLLOW_UP",
    "INITIALIZE",
    "INITIALIZED",
    "PROMPT",
    "REQUEST_APPROVAL",
    "SESSION_NEW",
    "SHUTDOWN",
    "STATE",
    "STEER",
    "UNQUEUE",
]

INITIALIZE = "initialize"
INITIALIZED = "initialized"
SHUTDOWN = "shutdown"
EXIT = "exit"
CANCEL = "$/cancelRequest"

SESSION_NEW = "session/new"
PROMPT = "agent/prompt"
STEER = "agent/steer"
FOLLOW_UP = "agent/followUp"
ABORT = "agent/abort"
UNQUEUE = "agent/unqueue"
STATE = "agent/state"
ANSWER = "agent/answer"
EVENTS = "agent/events"
EVENT = "agent/event"
REQUEST_APPROVAL = "agent/requestApproval"
