"""What a run did to files undone, and told as a client hears it."""

from __future__ import annotations

from pilothouse_agent.files.undo.rewind import RewoundFile
from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_server.documents.client_uris import ClientUris
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.protocol.undo import RewindResult, RewoundModel
from pilothouse_server.sessions.sessions import Sessions

__all__ = ["BUSY", "undo_run"]

BUSY = "A run or another undo is active. Abort it, or wait for its end."


async def undo_run(
    book: Sessions, session_id: str, run_id: str | None = None, *, merge: bool = False
) -> RewindResult:
    """Raises faults."""
    try:
        outcome = await book.rewind(session_id, run_id, merge=merge)
    except AgentBusy:
        raise fault(protocol.BUSY, BUSY) from None
    except KeyError:
        raise invalid("runId", f"nothing is known of changes by the run {run_id!r}") from None
    files = [_file(file, book.uris) for file in outcome.files]
    return RewindResult(run_id=outcome.run_id, files=files, complete=outcome.complete)


def _file(file: RewoundFile, uris: ClientUris) -> RewoundModel:
    return RewoundModel(
        path=uris.named(file.path),
        uri=uris.of(file.path),
        action=file.action,
        source=file.source,
        text=file.text,
        reason=file.reason,
    )
