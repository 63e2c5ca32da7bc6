"""Undo of a run, for sessions of this process and of earlier ones."""

from __future__ import annotations

from pygls.lsp.server import LanguageServer

from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.protocol.undo import RewindParams, RewindResult
from pilothouse_server.sessions.rewinding import take_back
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.sessions.undoing import BUSY, undo_run
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import method_names as names

__all__ = ["register_undo_methods"]


def register_undo_methods(server: LanguageServer, book: Sessions) -> None:
    @server.feature(names.REWIND)
    def rewind(params: RewindParams) -> Waiting:
        # What has begun goes to its end: half an undo would be neither text.
        return Waiting(_rewound(book, params), lambda: None)

    _ = rewind


async def _rewound(book: Sessions, params: RewindParams) -> RewindResult:
    if params.message_id is None:
        return await undo_run(book, params.session_id, params.run_id, merge=params.merge)
    if params.run_id is not None:
        raise invalid("messageId", "name a run or a message, not both")
    try:
        return await take_back(book, params.session_id, params.message_id, undo=params.files == "undo")
    except AgentBusy:
        raise fault(protocol.BUSY, BUSY) from None
