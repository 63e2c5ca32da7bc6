"""Names of the methods, apart from their models so that a light client need not load those."""

from __future__ import annotations

__all__ = [
    "ABORT",
    "ANSWER",
    "CANCEL",
    "CONFIGURATION",
    "CONFIGURATION_CHANGED",
    "EVENT",
    "EVENTS",
    "EXIT",
    "FOLLOW_UP",
    "INITIALIZE",
    "INITIALIZED",
    "PROGRESS",
    "PROGRESS_CANCEL",
    "PROGRESS_CREATE",
    "PROMPT",
    "REQUEST_APPROVAL",
    "SESSION_NEW",
    "SHOW_MESSAGE_REQUEST",
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
CONFIGURATION = "workspace/configuration"
CONFIGURATION_CHANGED = "workspace/didChangeConfiguration"
PROGRESS = "$/progress"
PROGRESS_CREATE = "window/workDoneProgress/create"
PROGRESS_CANCEL = "window/workDoneProgress/cancel"
SHOW_MESSAGE_REQUEST = "window/showMessageRequest"

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
