"""Models of sessions that are kept: listed, loaded, forked, renamed, exported, deleted."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pilothouse_server.protocol.models import ReturnedItem, SnapshotModel, Wire

__all__ = [
    "DeleteParams",
    "ExportParams",
    "ExportResult",
    "ForkParams",
    "ForkResult",
    "ListParams",
    "ListResult",
    "ListedSession",
    "LoadParams",
    "LoadResult",
    "RenameParams",
]


class ListParams(Wire):
    cwd: str | None = None
    """Only sessions that work in this folder: an absolute path or a file URI."""
    query: str | None = None
    """Looked for in titles and first prompts, whatever its case."""
    limit: int = Field(default=50, ge=1, le=1000)
    cursor: str | None = None
    """Of the result before: its next page."""


class ListedSession(Wire):
    session_id: str
    cwd: str
    title: str
    created: str
    """ISO 8601, UTC; so is `updated`."""
    updated: str
    model: str | None = None
    messages: int
    """As of the last run that ended."""
    cost: str | None = None
    """A decimal, in US dollars; absent when it is not known."""
    state: Literal["running", "idle", "locked"]
    """`locked`: another process has it open; here it can be read and forked."""


class ListResult(Wire):
    sessions: list[ListedSession]
    """Newest first."""
    cursor: str | None = None
    """Absent: this is the last page."""


class LoadParams(Wire):
    session_id: str
    continue_: bool = Field(default=False, alias="continue")
    """Go on with the run that was under way when its process ended."""


class LoadResult(Wire):
    snapshot: SnapshotModel
    epoch: str
    returned: list[ReturnedItem]
    """Steering and follow-ups that reached nobody; they are not queued again."""
    run_id: str | None = None
    """Of the run that goes on."""


class ForkParams(Wire):
    session_id: str
    message_id: str | None = None
    """The last message that the fork has; absent: all of them."""


class ForkResult(Wire):
    session_id: str
    """Of the new session; load it to use it."""


class RenameParams(Wire):
    session_id: str
    title: str = Field(min_length=1, max_length=1000)


class DeleteParams(Wire):
    session_id: str


class ExportParams(Wire):
    session_id: str
    format: Literal["markdown", "json"]


class ExportResult(Wire):
    text: str
