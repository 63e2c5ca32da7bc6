"""The session protocol: each request admitted where its frame is read, in order of arrival."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.messages import ImageBlock, TextBlock, UserBlock
from pilothouse_agent.kernel.parts import RunChoices
from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.run import RunResult
from pilothouse_agent.session.agent_session import AbortOutcome, AgentSession, Delivery, Started
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.protocol.kernel_values import (
    content_to_wire,
    error_to_wire,
    message_to_wire,
    options_to_wire,
    queued_to_wire,
    returned_to_wire,
    usage_to_wire,
)
from pilothouse_server.protocol.typed import Methods
from pilothouse_server.sessions.approvals import preview_to_wire
from pilothouse_server.sessions.event_stream import EventStream
from pilothouse_server.sessions.sessions import Sessions, mode_named
from pilothouse_server.transport.rpc import RequestFault, Waiting
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.codec import decode

__all__ = ["register_methods"]


def register_methods(methods: Methods, book: Sessions) -> None:

    @methods.typed(names.SESSION_NEW, protocol.NewParams)
    def new(params: protocol.NewParams) -> Waiting:
        return Waiting(_created(book, params), lambda: None)

    @methods.typed(names.PROMPT, protocol.PromptParams)
    def prompt(params: protocol.PromptParams) -> protocol.AcceptedResult | Waiting:
        asked = _Asked(params)
        if params.session_id is None:
            opening = _Opening(book, asked)
            return Waiting(opening.prompt(), opening.cancel)
        session = book.get(params.session_id)
        book.refuse_unusable(params.model or session.agent.state.model, session.id)
        started = asked.start(session, book)
        if params.wait == "accepted":
            return protocol.AcceptedResult(session_id=session.id, run_id=started.run_id)
        return Waiting(_settled(session, started), session.abort)

    @methods.typed(names.STEER, protocol.MessageParams)
    def steer(params: protocol.MessageParams) -> protocol.DeliveryResult:
        return _delivered(_heard(book, params.session_id).steer(_content(params)))

    @methods.typed(names.FOLLOW_UP, protocol.MessageParams)
    def follow_up(params: protocol.MessageParams) -> protocol.DeliveryResult:
        return _delivered(_heard(book, params.session_id).follow_up(_content(params)))

    @methods.typed(names.SESSION_CLOSE, protocol.CloseParams)
    def close(params: protocol.CloseParams) -> Waiting:
        return Waiting(_closed(book.close_session(params.session_id)), lambda: None)

    @methods.typed(names.ABORT, protocol.AbortParams)
    def abort(params: protocol.AbortParams) -> Waiting:
        aborting = book.get(params.session_id).abort()
        return Waiting(_aborted(aborting), lambda: None)

    @methods.typed(names.STATE, protocol.StateParams)
    def state(params: protocol.StateParams) -> protocol.StateResult:
        chosen = book.all() if params.session_id is None else [book.get(params.session_id)]
        return protocol.StateResult(sessions=[_state(session, book) for session in chosen])

    @methods.typed(names.UNQUEUE, protocol.UnqueueParams)
    def unqueue(params: protocol.UnqueueParams) -> protocol.UnqueueResult:
        removed = book.get(params.session_id).unqueue(params.queue_ids)
        return protocol.UnqueueResult(removed=list(removed))

    @methods.typed(names.ANSWER, protocol.AnswerParams)
    def answer(params: protocol.AnswerParams) -> protocol.EmptyResult:
        given = Answer(params.option_id, params.reason, by="client")
        if not any(session.agent.approvals.answer(params.approval_id, given) for session in book.all()):
            raise _not_open(params.approval_id)
        return protocol.EmptyResult()

    @methods.typed(names.PREVIEW, protocol.PreviewParams)
    def preview(params: protocol.PreviewParams) -> protocol.PreviewResult:
        return _preview(params, book)

    @methods.typed(names.EVENTS, protocol.EventsParams)
    def events(params: protocol.EventsParams) -> protocol.EventsResult:
        return _events(params, book)

    _ = (new, prompt, steer, follow_up, abort, state, unqueue, answer, preview, events, close)


class _Asked:
    """A prompt whose params make sense. Raises faults."""

    def __init__(self, params: protocol.PromptParams) -> None:
        self.params = params
        self._content = _content(params)
        self._mode = mode_named(params.mode)

    def start(self, session: AgentSession, book: Sessions) -> Started:
        """Admit it. Raises the `busy` fault."""
        params = self.params
        try:
            return session.prompt(
                self._content,
                prompt_id=params.prompt_id,
                choices=RunChoices(params.model, params.thinking),
                mode=self._mode,
                note=book.note(session, params.context),
            )
        except AgentBusy as error:
            raise fault(protocol.BUSY, str(error)) from None


class _Opening:
    """A prompt that brings its session along."""

    def __init__(self, book: Sessions, asked: _Asked) -> None:
        self._book = book
        self._asked = asked
        self._session: AgentSession | None = None
        self._cancelled = False

    async def prompt(self) -> protocol.AcceptedResult | protocol.SettledResult:
        params = self._asked.params
        session = self._session = await self._book.create(model=params.model, for_prompt=True)
        try:
            started = self._asked.start(session, self._book)
        except Exception:
            # Nobody is told of a session whose prompt is answered with an error.
            await self._book.close_session(session.id)
            raise
        if self._cancelled:
            session.abort()
        if params.wait == "accepted":
            return protocol.AcceptedResult(session_id=session.id, run_id=started.run_id)
        return await _settled(session, started)

    def cancel(self) -> None:
        self._cancelled = True
        if self._session is not None:
            self._session.abort()


async def _created(book: Sessions, params: protocol.NewParams) -> protocol.NewResult:
    session = await book.create(
        cwd=params.cwd, folders=params.folders or (), model=params.model, mode=params.mode
    )
    return protocol.NewResult(session_id=session.id, epoch=book.epoch)


def _heard(book: Sessions, session_id: str) -> AgentSession:
    """The session that is told something; where that would begin a run, its model must be usable."""
    session = book.get(session_id)
    if not session.takes_messages:
        book.refuse_unusable(session.agent.state.model, session.id)
    return session


async def _closed(closing: Awaitable[None]) -> protocol.EmptyResult:
    await closing
    return protocol.EmptyResult()


async def _settled(session: AgentSession, started: Started) -> protocol.SettledResult:
    return settled(session.id, await started.result)


def settled(session_id: str, result: RunResult) -> protocol.SettledResult:
    wire = {
        "sessionId": session_id,
        "runId": result.run_id,
        "stopReason": result.stop_reason,
        "text": result.text,
        "usage": usage_to_wire(result.usage) if result.usage is not None else None,
        "returned": returned_to_wire(result.returned),
        "denied": result.denied or None,
        "error": error_to_wire(result.error) if result.error is not None else None,
    }
    return protocol.SettledResult.model_validate(wire)


async def _aborted(aborting: Awaitable[AbortOutcome]) -> protocol.AbortResult:
    outcome = await aborting
    returned = returned_to_wire(outcome.returned)
    wire = {"aborted": outcome.aborted, "runId": outcome.run_id, "returned": returned}
    return protocol.AbortResult.model_validate(wire)


def _delivered(delivery: Delivery) -> protocol.DeliveryResult:
    return protocol.DeliveryResult(
        queue_id=delivery.queue_id, delivery=delivery.delivery, run_id=delivery.run_id
    )


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
        "steering": queued_to_wire(snapshot.steering),
        "followUp": queued_to_wire(snapshot.follow_up),
        "pendingToolCalls": list(snapshot.pending_tool_calls),
        "pendingWrites": list(snapshot.pending_writes),
        "approvals": [_approval(question) for question in session.agent.approvals.open],
        "contextTokens": snapshot.context_tokens,
        "contextWindow": book.models.limits(snapshot.model).context_window,
        "credentials": book.models_of(session.id).key_source(snapshot.model),
        "usage": usage_to_wire(usage) if usage is not None else None,
    }
    return protocol.SessionState.model_validate(wire)


def _events(params: protocol.EventsParams, book: Sessions) -> protocol.EventsResult:
    session, stream = book.get(params.session_id), book.stream(params.session_id)
    kept = None
    if params.epoch == stream.epoch:
        kept = stream.journal.after(params.after_seq, params.limit + 1)
    if kept is None:
        return protocol.EventsResult(snapshot=_snapshot(session, stream, book))
    more = len(kept) > params.limit
    kept = kept[: params.limit]
    through = kept[-1].seq if more else stream.seq
    decoded = [decode(event.body) for event in kept]
    return protocol.EventsResult(events=decoded, through_seq=through, more=more)


def _snapshot(session: AgentSession, stream: EventStream, book: Sessions) -> protocol.SnapshotModel:
    state = session.agent.state
    streaming = state.streaming_message
    partial = streaming and {
        "id": streaming.id,
        "role": "assistant",
        "content": content_to_wire(streaming.content),
    }
    return protocol.SnapshotModel(
        epoch=stream.epoch,
        seq=stream.seq,
        state=_state(session, book),
        messages=[message_to_wire(message) for message in state.messages],
        streaming_message=partial,
    )


def _approval(question: Question) -> dict[str, Any]:
    return {
        "approvalId": question.id,
        "toolCallId": question.call.id,
        "title": question.title,
        "options": options_to_wire(question.options),
    }


def _preview(params: protocol.PreviewParams, book: Sessions) -> protocol.PreviewResult:
    questions = [question for session in book.all() for question in session.agent.approvals.open]
    asked = next((question for question in questions if question.id == params.approval_id), None)
    if asked is None:
        raise _not_open(params.approval_id)
    wire = preview_to_wire(asked.preview, params.uri, uri_of=book.uris.of)
    if params.uri is not None and not wire:
        raise invalid("uri", f"the approval is not about {params.uri!r}")
    return protocol.PreviewResult.model_validate(wire)


def _not_open(approval_id: str) -> RequestFault:
    text = f"There is no open approval {approval_id!r}; it may have been answered already."
    return fault(protocol.ALREADY_RESOLVED, text)


def _content(message: protocol.Message) -> tuple[UserBlock, ...]:
    if message.content is None:
        return (TextBlock(message.text or ""),)
    blocks = tuple(
        TextBlock(block.text)
        if isinstance(block, protocol.TextContent)
        else ImageBlock(block.media_type, block.data)
        for block in message.content
    )
    if all(isinstance(block, TextBlock) and not block.text.strip() for block in blocks):
        raise invalid("content", "the message is empty")
    return blocks
