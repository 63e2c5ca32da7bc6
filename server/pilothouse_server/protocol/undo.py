"""Models of undoing what a run did to files."""

from __future__ import annotations

from typing import Literal

from pilothouse_server.protocol.models import Wire

__all__ = ["RewindParams", "RewindResult", "RewoundModel"]


class RewindParams(Wire):
    session_id: str
    """Also one of an earlier server process."""
    run_id: str | None = None
    """Absent: the last run that changed files and is not undone."""
    message_id: str | None = None
    """Take the conversation back to before this message instead; the session has to be open."""
    files: Literal["undo", "keep"] = "keep"
    """With `messageId`: what becomes of the files that later runs changed. Without it they are undone."""
    merge: bool = False
    """Put what is offered in place."""


class RewoundModel(Wire):
    path: str
    """Where the file stands now; of an offer or a conflict, where the run left it."""
    uri: str
    action: Literal["restored", "deleted", "created", "moved", "unchanged", "offered", "conflict"]
    """`offered`: others have changed the file since, and nothing was done; `text` is the file with the run's
    change taken out and theirs left in. `conflict`: the two do not go together, and `reason` says why."""
    source: str | None = None
    """Where it was moved back from."""
    text: str | None = None
    reason: str | None = None


class RewindResult(Wire):
    run_id: str | None = None
    """Absent: there is nothing to undo."""
    files: list[RewoundModel]
    complete: bool
    """false: some changes of the run were not known any more."""
    messages: list[str] | None = None
    """With `messageId`: the messages that are left out, oldest first."""
    run_ids: list[str] | None = None
    """With `messageId`: the runs behind it that changed files."""
