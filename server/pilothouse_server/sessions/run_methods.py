"""The methods that reach a run: prompt, steer, follow-up, abort, and taking back what waits for it."""

from __future__ import annotations

from collections.abc import Awaitable

from pygls.lsp.server import LanguageServer

from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.messages import ImageBlock, TextBlock, UserBlock
from pilothouse_agent.kernel.parts import RunChoices
from pilothouse_agent.kernel.run import RunResult
from pilothouse_agent.session.agent_session import AbortOutcome, AgentSession, Delivery, Started
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.protocol.kernel_values import to_wire
from pilothouse_server.sessions.sessions import Sessions, mode_named
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import method_names as names

__all__ = ["register_run_methods"]


def register_run_methods(server: LanguageServer, book: Sessions) -> None:
    @server.feature(names.PROMPT)
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

    @server.feature(names.STEER)
    def steer(params: protocol.MessageParams) -> protocol.DeliveryResult:
        return _delivered(_heard(book, params.session_id).steer(_content(params)))

    @server.feature(names.FOLLOW_UP)
    def follow_up(params: protocol.MessageParams) -> protocol.DeliveryResult:
        return _delivered(_heard(book, params.session_id).follow_up(_content(params)))

    @server.feature(names.ABORT)
    def abort(params: protocol.AbortParams) -> Waiting:
        aborting = book.get(params.session_id).abort()
        return Waiting(_aborted(aborting), lambda: None)

    @server.feature(names.UNQUEUE)
    def unqueue(params: protocol.UnqueueParams) -> protocol.UnqueueResult:
        removed = book.get(params.session_id).unqueue(params.queue_ids)
        return protocol.UnqueueResult(removed=list(removed))

    _ = (prompt, steer, follow_up, abort, unqueue)


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
            started = session.prompt(
                self._content,
                prompt_id=params.prompt_id,
                choices=RunChoices(params.model, params.thinking),
                mode=self._mode,
                note=book.note(session, params.context),
            )
        except AgentBusy as error:
            raise fault(protocol.BUSY, str(error)) from None
        if params.work_done_token is not None:
            book.show_progress(session.id, started.run_id, params.work_done_token)
        return started


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


def _heard(book: Sessions, session_id: str) -> AgentSession:
    """The session that is told something; where that would begin a run, its model must be usable."""
    session = book.get(session_id)
    if not session.takes_messages:
        book.refuse_unusable(session.agent.state.model, session.id)
    return session


async def _settled(session: AgentSession, started: Started) -> protocol.SettledResult:
    return settled(session.id, await started.result)


def settled(session_id: str, result: RunResult) -> protocol.SettledResult:
    wire = {
        "sessionId": session_id,
        "runId": result.run_id,
        "stopReason": result.stop_reason,
        "text": result.text,
        "usage": to_wire(result.usage),
        "returned": to_wire(result.returned),
        "denied": result.denied or None,
        "error": to_wire(result.error),
    }
    return protocol.SettledResult.model_validate(wire)


async def _aborted(aborting: Awaitable[AbortOutcome]) -> protocol.AbortResult:
    outcome = await aborting
    returned = to_wire(outcome.returned)
    wire = {"aborted": outcome.aborted, "runId": outcome.run_id, "returned": returned}
    return protocol.AbortResult.model_validate(wire)


def _delivered(delivery: Delivery) -> protocol.DeliveryResult:
    return protocol.DeliveryResult(
        queue_id=delivery.queue_id, delivery=delivery.delivery, run_id=delivery.run_id
    )


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
