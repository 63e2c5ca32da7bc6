"""Undo of a run, for sessions of this process and of earlier ones."""

from __future__ import annotations

from pygls.lsp.server import LanguageServer

from pilothouse_agent.files.undo.rewind import RewoundFile
from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_server.documents.client_uris import ClientUris
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.protocol.undo import RewindParams, RewindResult, RewoundModel
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import method_names as names

__all__ = ["register_undo_methods", "undo_run"]


def register_undo_methods(server: LanguageServer, book: Sessions) -> None:
    @server.feature(names.REWIND)
    def rewind(params: RewindParams) -> Waiting:
        # What has begun goes to its end: half an undo would be neither text.
        return Waiting(undo_run(book, params.session_id, params.run_id, merge=params.merge), lambda: None)

    _ = rewind


async def undo_run(
    book: Sessions, session_id: str, run_id: str | None = None, *, merge: bool = False
) -> RewindResult:
    """Raises faults."""
    try:
        outcome = await book.rewind(session_id, run_id, merge=merge)
    except AgentBusy:
        text = "A run or another undo is active. Abort it, or wait for its end."
        raise fault(protocol.BUSY, text) from None
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
