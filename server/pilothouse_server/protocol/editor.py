"""Models of what only some clients can be asked for."""

from __future__ import annotations

from pilothouse_server.protocol.models import Wire
from pilothouse_server.wire.json_object import Json

__all__ = [
    "AskParams",
    "AskResult",
    "DiagnosticsParams",
    "DiagnosticsResult",
    "EncodingParams",
    "RefusedSave",
    "ReloadParams",
    "ReloadResult",
    "SaveFile",
    "SaveParams",
    "SaveResult",
]


class EncodingParams(Wire):
    """Notification `agent/encoding` of clients that declare `encodings`."""

    uri: str
    encoding: str
    """Such as `cp1252`, `windows1252` or `shiftjis`."""


class AskParams(Wire):
    question_id: str
    session_id: str
    question: str
    options: list[str] | None = None
    """Answers to choose from; any other text is an answer as well."""


class AskResult(Wire):
    answer: str | None = None


class SaveFile(Wire):
    uri: str
    version: int


class SaveParams(Wire):
    files: list[SaveFile]


class RefusedSave(Wire):
    uri: str
    reason: str


class SaveResult(Wire):
    saved: list[str]
    """URIs."""
    refused: list[RefusedSave]


class ReloadParams(Wire):
    uris: list[str]


class ReloadResult(Wire):
    reloaded: list[str]
    """URIs."""


class DiagnosticsParams(Wire):
    uri: str


class DiagnosticsResult(Wire):
    diagnostics: list[Json]
    """Their lines count from 0, as in LSP."""
