"""Names of the methods, apart from their models so that a light client need not load those."""

from __future__ import annotations

__all__ = [
    "ABORT",
    "ANSWER",
    "APPLY_EDIT",
    "CANCEL",
    "CONFIGURATION",
    "CONFIGURATION_CHANGED",
    "DID_CHANGE",
    "DID_CLOSE",
    "DID_OPEN",
    "DID_SAVE",
    "EVENT",
    "EVENTS",
    "EXIT",
    "FOLDERS_CHANGED",
    "FOLLOW_UP",
    "INITIALIZE",
    "INITIALIZED",
    "PROGRESS",
    "PROGRESS_CANCEL",
    "PROGRESS_CREATE",
    "PROMPT",
    "REGISTER",
    "REQUEST_APPROVAL",
    "SESSION_NEW",
    "SHOW_MESSAGE_REQUEST",
    "SHUTDOWN",
    "STATE",
    "STEER",
    "UNQUEUE",
    "WATCHED_FILES_CHANGED",
]

INITIALIZE = "initialize"
INITIALIZED = "initialized"
SHUTDOWN = "shutdown"
EXIT = "exit"
CANCEL = "$/cancelRequest"
APPLY_EDIT = "workspace/applyEdit"
CONFIGURATION = "workspace/configuration"
CONFIGURATION_CHANGED = "workspace/didChangeConfiguration"
PROGRESS = "$/progress"
PROGRESS_CREATE = "window/workDoneProgress/create"
PROGRESS_CANCEL = "window/workDoneProgress/cancel"
SHOW_MESSAGE_REQUEST = "window/showMessageRequest"
REGISTER = "client/registerCapability"
DID_OPEN = "textDocument/didOpen"
DID_CHANGE = "textDocument/didChange"
DID_SAVE = "textDocument/didSave"
DID_CLOSE = "textDocument/didClose"
FOLDERS_CHANGED = "workspace/didChangeWorkspaceFolders"
WATCHED_FILES_CHANGED = "workspace/didChangeWatchedFiles"

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
