"""The conversation taken back to before one of its messages, and what its runs did to files with it (J9)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pilothouse_agent.session.log.forking import path_before
from pilothouse_agent.session.log.records import Record
from pilothouse_agent.session.log.restore import restored
from pilothouse_server.protocol.faults import invalid
from pilothouse_server.protocol.undo import RewindResult, RewoundModel
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.sessions.undoing import undo_run

__all__ = ["take_back"]

_UNDONE = "The user took the conversation back to here. What you changed in files after it was undone."
_DAMAGED = "the log is damaged behind this message: what would be left out is not known; fork from before it"
_STANDS = (
    "The user took the conversation back to here. What you changed in files after this point still stands; "
    "read them again before you go on."
)


async def take_back(book: Sessions, session_id: str, message_id: str, *, undo: bool) -> RewindResult:
    """Raises faults, and `AgentBusy` during a run or an undo. The log keeps what is left out."""
    session = book.get(session_id)
    tree = await asyncio.to_thread(book.kept.read, session_id)
    path = tree.path()
    try:
        before = path_before(path, message_id)
    except KeyError:
        raise invalid("messageId", f"the conversation has no message {message_id!r}") from None
    left_out = path[len(before) :]
    if any(record.id in tree.mended for record in left_out):
        raise invalid("messageId", _DAMAGED)
    runs = _changing_runs(left_out)
    files: list[RewoundModel] = []
    complete = True
    for run_id in reversed(runs) if undo else ():
        undone = await undo_run(book, session_id, run_id)
        files += undone.files
        complete = complete and undone.complete
    session.go_back(restored(before), to=before[-1].id if before else None)
    if runs:
        session.agent.append_custom("rewind", _UNDONE if undo else _STANDS, for_model=True)
    return RewindResult(
        files=files,
        complete=complete,
        messages=[record.id for record in left_out if record.type == "message"],
        run_ids=runs,
    )


def _changing_runs(records: Sequence[Record]) -> list[str]:
    """Those that changed files, oldest first."""
    return [str(record.data.get("runId")) for record in records if record.type == "changes"]
