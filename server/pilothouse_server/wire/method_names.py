"""Names of the methods, apart from their models so that a light client need not load those."""

from __future__ import annotations

__all__ = [
    "ABORT",
    "ANSWER",
    "APPLY_EDIT",
    "ASK",
    "CANCEL",
    "CODE_ACTION",
    "CONFIGURATION",
    "CONFIGURATION_CHANGED",
    "DIAGNOSTICS",
    "DID_CHANGE",
    "DID_CLOSE",
    "DID_OPEN",
    "DID_SAVE",
    "ENCODING",
    "EVENT",
    "EVENTS",
    "EXECUTE_COMMAND",
    "EXIT",
    "FOLDERS_CHANGED",
    "FOLLOW_UP",
    "INITIALIZE",
    "INITIALIZED",
    "LOG_MESSAGE",
    "LOG_TRACE",
    "MODELS",
    "NOTIFICATIONS",
    "PREVIEW",
    "PROGRESS",
    "PROGRESS_CANCEL",
    "PROGRESS_CREATE",
    "PROMPT",
    "REGISTER",
    "RELOAD",
    "REQUESTS",
    "REQUEST_APPROVAL",
    "REWIND",
    "SAVE",
    "SEMANTIC_TOKENS",
    "SEMANTIC_TOKENS_REFRESH",
    "SESSION_CLOSE",
    "SESSION_DELETE",
    "SESSION_EXPORT",
    "SESSION_FORK",
    "SESSION_LIST",
    "SESSION_LOAD",
    "SESSION_NEW",
    "SESSION_RENAME",
    "SET_MODEL",
    "SET_THINKING",
    "SET_TRACE",
    "SHOW_DOCUMENT",
    "SHOW_MESSAGE",
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
SET_TRACE = "$/setTrace"
LOG_TRACE = "$/logTrace"
ENCODING = "agent/encoding"
APPLY_EDIT = "workspace/applyEdit"
CONFIGURATION = "workspace/configuration"
CONFIGURATION_CHANGED = "workspace/didChangeConfiguration"
PROGRESS = "$/progress"
PROGRESS_CREATE = "window/workDoneProgress/create"
PROGRESS_CANCEL = "window/workDoneProgress/cancel"
LOG_MESSAGE = "window/logMessage"
SHOW_MESSAGE = "window/showMessage"
SHOW_MESSAGE_REQUEST = "window/showMessageRequest"
SHOW_DOCUMENT = "window/showDocument"
EXECUTE_COMMAND = "workspace/executeCommand"
CODE_ACTION = "textDocument/codeAction"
SEMANTIC_TOKENS = "textDocument/semanticTokens/full"
SEMANTIC_TOKENS_REFRESH = "workspace/semanticTokens/refresh"
REGISTER = "client/registerCapability"
DID_OPEN = "textDocument/didOpen"
DID_CHANGE = "textDocument/didChange"
DID_SAVE = "textDocument/didSave"
DID_CLOSE = "textDocument/didClose"
FOLDERS_CHANGED = "workspace/didChangeWorkspaceFolders"

SESSION_NEW = "session/new"
SESSION_CLOSE = "session/close"
SESSION_LIST = "session/list"
SESSION_LOAD = "session/load"
SESSION_FORK = "session/fork"
SESSION_RENAME = "session/rename"
SESSION_DELETE = "session/delete"
SESSION_EXPORT = "session/export"
REWIND = "session/rewind"
SET_MODEL = "session/setModel"
SET_THINKING = "session/setThinking"
PROMPT = "agent/prompt"
STEER = "agent/steer"
FOLLOW_UP = "agent/followUp"
ABORT = "agent/abort"
UNQUEUE = "agent/unqueue"
STATE = "agent/state"
MODELS = "agent/models"
ANSWER = "agent/answer"
PREVIEW = "agent/preview"
EVENTS = "agent/events"
EVENT = "agent/event"
REQUEST_APPROVAL = "agent/requestApproval"
ASK = "agent/ask"
SAVE = "editor/save"
RELOAD = "editor/reload"
DIAGNOSTICS = "editor/diagnostics"

_TO_THE_CLIENT = frozenset({EVENT, REQUEST_APPROVAL, ASK})
NOTIFICATIONS = frozenset(
    {
        INITIALIZED,
        CONFIGURATION_CHANGED,
        PROGRESS_CANCEL,
        SET_TRACE,
        DID_OPEN,
        DID_CHANGE,
        DID_SAVE,
        DID_CLOSE,
        ENCODING,
        FOLDERS_CHANGED,
    }
)
"""What the server hears; known without loading it, as are its requests."""
# Taken from the names above, so that none of them can be forgotten here.
REQUESTS = frozenset(
    name
    for name in list(globals().values())
    if isinstance(name, str) and name.startswith(("agent/", "session/"))
) - _TO_THE_CLIENT - NOTIFICATIONS | {EXECUTE_COMMAND, CODE_ACTION, SEMANTIC_TOKENS}
"""What the server is asked, apart from the life of the connection."""
