"""The methods that open and close sessions, and tell how they stand."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from pygls.lsp.server import LanguageServer

from pilothouse_agent.kernel.questions import Question
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.events import QueuedText
from pilothouse_server.protocol.kernel_values import to_wire
from pilothouse_server.sessions.event_stream import EventStream
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.codec import decode

__all__ = ["register_session_methods", "snapshot_of"]


def register_session_methods(server: LanguageServer, book: Sessions) -> None:
    @server.feature(names.SESSION_NEW)
    def new(params: protocol.NewParams) -> Waiting:
        return Waiting(_created(book, params), lambda: None)

    @server.feature(names.SESSION_CLOSE)
    def close(params: protocol.CloseParams) -> Waiting:
        return Waiting(_closed(book.close_session(params.session_id)), lambda: None)

    @server.feature(names.STATE)
    def state(params: protocol.StateParams) -> protocol.StateResult:
        chosen = book.all() if params.session_id is None else [book.get(params.session_id)]
        return protocol.StateResult(sessions=[_state(session, book) for session in chosen])

    @server.feature(names.EVENTS)
    def events(params: protocol.EventsParams) -> protocol.EventsResult:
        return _events(params, book)

    _ = (new, close, state, events)


async def _created(book: Sessions, params: protocol.NewParams) -> protocol.NewResult:
    session = await book.create(
        cwd=params.cwd, folders=params.folders or (), model=params.model, mode=params.mode
    )
    return protocol.NewResult(session_id=session.id, epoch=book.epoch)


async def _closed(closing: Awaitable[None]) -> protocol.EmptyResult:
    await closing
    return protocol.EmptyResult()


def _state(session: AgentSession, book: Sessions) -> protocol.SessionState:
    snapshot = session.agent.state
    usage = book.models.ledger.total(session.id) or session.agent.usage
    wire = {
        "sessionId": session.id,
        "cwd": session.cwd,
        "phase": snapshot.phase,
        "model": snapshot.model,
        "mode": session.mode,
        "thinking": snapshot.thinking,
        "steering": [to_wire(QueuedText.of(item)) for item in snapshot.steering],
        "followUp": [to_wire(QueuedText.of(item)) for item in snapshot.follow_up],
        "pendingToolCalls": list(snapshot.pending_tool_calls),
        "pendingWrites": list(snapshot.pending_writes),
        "approvals": [_approval(question) for question in session.agent.approvals.open],
        "contextTokens": snapshot.context_tokens,
        "contextWindow": book.models.limits(snapshot.model).context_window,
        "credentials": book.models_of(session.id).key_source(snapshot.model),
        "usage": to_wire(usage),
        "title": session.keeping.title if session.keeping is not None else None,
        "unsaved": (session.keeping is not None and session.keeping.unsaved) or None,
    }
    return protocol.SessionState.model_validate(wire)


def _events(params: protocol.EventsParams, book: Sessions) -> protocol.EventsResult:
    session, stream = book.get(params.session_id), book.stream(params.session_id)
    kept = None
    if params.epoch == stream.epoch:
        kept = stream.journal.after(params.after_seq, params.limit + 1)
    if kept is None:
        return protocol.EventsResult(snapshot=snapshot_of(session, stream, book))
    more = len(kept) > params.limit
    kept = kept[: params.limit]
    through = kept[-1].seq if more else stream.seq
    decoded = [decode(event.body) for event in kept]
    return protocol.EventsResult(events=decoded, through_seq=through, more=more)


def snapshot_of(session: AgentSession, stream: EventStream, book: Sessions) -> protocol.SnapshotModel:
    state = session.agent.state
    streaming = state.streaming_message
    partial = streaming and {
        "id": streaming.id,
        "role": "assistant",
        "content": to_wire(streaming.content),
    }
    return protocol.SnapshotModel(
        epoch=stream.epoch,
        seq=stream.seq,
        state=_state(session, book),
        messages=to_wire(state.messages),
        streaming_message=partial,
    )


def _approval(question: Question) -> dict[str, Any]:
    return {
        "approvalId": question.id,
        "toolCallId": question.call.id,
        "title": question.title,
        "options": to_wire(question.options),
    }
