"""Models of asking whether a call may run, and of the answers."""

from __future__ import annotations

from typing import Literal

from pilothouse_server.protocol.models import OptionModel, Wire
from pilothouse_server.wire.json_object import Json

__all__ = [
    "AnswerParams",
    "ApprovalCall",
    "ApprovalParams",
    "ApprovalResult",
    "DiffModel",
    "HunkModel",
    "PreviewParams",
    "PreviewResult",
]


class HunkModel(Wire):
    """Line numbers from 1; each line begins with a blank, `-` or `+`."""

    old_start: int
    new_start: int
    lines: list[str]


class DiffModel(Wire):
    uri: str
    old_text: str | None = None
    """Absent: the file does not exist yet."""
    new_text: str | None = None
    """Absent: the file is to be deleted."""
    hunks: list[HunkModel]


class ApprovalCall(Wire):
    id: str
    name: str
    kind: str
    arguments: Json
    arguments_cut: bool = False
    """Long texts and lists in them are shortened."""


class ApprovalParams(Wire):
    approval_id: str
    session_id: str
    run_id: str
    tool_call: ApprovalCall
    title: str
    risk: Literal["low", "medium", "high"]
    command: str | None = None
    diffs: list[DiffModel] | None = None
    cut: bool = False
    """The command or the diffs are shortened; `agent/preview` gives the whole."""
    options: list[OptionModel]


class ApprovalResult(Wire):
    option_id: str
    reason: str | None = None
    stop: bool = False
    """End the run as well."""


class PreviewParams(Wire):
    approval_id: str
    uri: str | None = None
    """Of one file; absent: all of them, and the command."""


class PreviewResult(Wire):
    command: str | None = None
    diffs: list[DiffModel] | None = None


class AnswerParams(Wire):
    """Answers an open approval from anywhere; the first answer wins."""

    approval_id: str
    option_id: str
    reason: str | None = None
