"""The methods about open approvals, for whichever client wants to answer them."""

from __future__ import annotations

from pygls.lsp.server import LanguageServer

from pilothouse_agent.kernel.questions import Answer
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.approvals import AnswerParams, PreviewParams, PreviewResult
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.sessions.approvals import preview_to_wire
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import RequestFault

__all__ = ["register_approval_methods"]


def register_approval_methods(server: LanguageServer, book: Sessions) -> None:
    @server.feature(names.ANSWER)
    def answer(params: AnswerParams) -> protocol.EmptyResult:
        given = Answer(params.option_id, params.reason, by="client")
        if not any(session.agent.approvals.answer(params.approval_id, given) for session in book.all()):
            raise _not_open(params.approval_id)
        return protocol.EmptyResult()

    @server.feature(names.PREVIEW)
    def preview(params: PreviewParams) -> PreviewResult:
        return _preview(params, book)

    _ = (answer, preview)


def _preview(params: PreviewParams, book: Sessions) -> PreviewResult:
    questions = [question for session in book.all() for question in session.agent.approvals.open]
    asked = next((question for question in questions if question.id == params.approval_id), None)
    if asked is None:
        raise _not_open(params.approval_id)
    wire = preview_to_wire(asked.preview, params.uri, uri_of=book.uris.of)
    if params.uri is not None and not wire:
        raise invalid("uri", f"the approval is not about {params.uri!r}")
    return PreviewResult.model_validate(wire)


def _not_open(approval_id: str) -> RequestFault:
    text = f"There is no open approval {approval_id!r}; it may have been answered already."
    return fault(protocol.ALREADY_RESOLVED, text)
