"""A conversation that is held in a document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.session.agent_session import AgentSession, Delivery
from pilothouse_server.chat.chat_document import ChatDocument
from pilothouse_server.chat.chat_text import answered, draft_of, has_answers, marked, noted, quoted, said
from pilothouse_server.chat.chat_view import ChatView
from pilothouse_server.chat.sent_drafts import SentDraft, SentDrafts
from pilothouse_server.documents.document import Document
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.sessions.chat_memory import ChatMemory
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.wire.faults import REQUEST_FAILED, RequestFault

__all__ = ["Chat"]

_SETTLE = 5.0
"""Seconds the document has to take what belongs to the old conversation."""
_UNSEEN = "*A new conversation: the model does not see what is above.*"
_SENT_ALREADY = "this draft has been sent; the editor has not taken it out of the chat document yet"
_NO_DRAFT = 'nothing is written below the last "## You" of the chat document'


class Chat:
    """Its methods take effect in the order they are called. All but `draft` and `busy` may raise faults."""

    def __init__(self, document: ChatDocument, sessions: Sessions, memory: ChatMemory) -> None:
        """Its session is made for the first message."""
        self.document = document
        self.session: AgentSession | None = None
        self.last_run: str | None = None
        self.earlier: str | None = None
        """The session this chat had before, whose runs can still be undone."""
        self._memory = memory
        self._sessions = sessions
        self._unsubscribe: Callable[[], None] | None = None
        self._turn = asyncio.Lock()
        self._sent = SentDrafts()
        self.follow: Callable[[], object] = lambda: None
        """Called when the end of the document is what the user wants to see."""
        self.grew: Callable[[], object] = lambda: None
        """Called when the answer has become longer in the document."""
        self._begun_anew = False
        """The document says already that the model does not know its beginning."""
        document.watch(self._look)

    @property
    def busy(self) -> bool:
        return self.session is not None and self.session.agent.busy and not self.session.agent.ending

    @property
    def draft(self) -> str:
        """What is written for the next message in the open document, and not sent yet."""
        document = self.document.document
        return "" if document is None or document.doubt else self._sent.unsent(draft_of(document.text))

    async def recall(self) -> None:
        """Learn which session was the last one, of an earlier process too."""
        self.earlier = await asyncio.to_thread(self._memory.load)

    async def mark(self) -> None:
        """Say in the document that a run which it shows as alive has died with its server."""
        with suppress(ToolError):
            if (text := await self.document.text()) != marked(text):
                self.document.write(lambda chat, _: marked(chat))

    async def prompt(self, text: str | None) -> str:
        """Send `text`, or the draft; the run that it starts, or has started already."""
        async with self._turn:
            if text is not None:
                return await self._prompt(_not_empty(text), None)
            shown = draft_of(await self._text())
            sent = self._sent.last_of(shown)
            if sent is not None and sent.run_id is not None:
                return sent.run_id
            with self._sending(self._unsent(shown)) as draft:
                return await self._prompt(draft.message, draft)

    async def deliver(self, text: str | None, *, steer: bool) -> Delivery:
        """Steer, or queue a follow-up; either begins a run when there is none."""
        async with self._turn:
            if text is not None:
                return await self._deliver(_not_empty(text), None, steer=steer)
            with self._sending(self._unsent(draft_of(await self._text()))) as draft:
                return await self._deliver(draft.message, draft, steer=steer)

    def saved(self, text: str) -> Coroutine[Any, Any, None] | None:
        """What sends the draft as the document's end asked for it; None when that was done before."""
        message = self._sent.unsent(draft_of(text))
        return self._send_saved(self._sent.add(message)) if message else None

    async def _send_saved(self, draft: SentDraft) -> None:
        async with self._turn:
            with self._dropping(draft):
                if self.busy:
                    await self._deliver(draft.message, draft, steer=True)
                else:
                    await self._prompt(draft.message, draft)

    async def stop(self) -> str | None:
        """The run that ends now; it may take a moment to settle."""
        async with self._turn:
            if self.session is None:
                return None
            run_id = self.session.agent.run_id
            self.session.abort()
            return run_id

    async def begin_anew(self) -> None:
        async with self._turn:
            if self.busy:
                raise fault(protocol.BUSY, "The agent is at work. Stop it before a new chat is begun.")
            await self._heard_the_end()
            if self._unsubscribe is not None:
                self._unsubscribe()
            await self.recall()
            self.session = self._unsubscribe = self.last_run = None
            await self.document.settled(_SETTLE)
            self._note_beginning(await self._text())

    async def _heard_the_end(self) -> None:
        """A run that ends now is told of in full: others hear of its end before the document does."""
        if self.session is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SETTLE):
                    await self.session.agent.wait_for_idle()

    def tell(self, block: str) -> None:
        """Write into the document what happened outside a run."""
        self.document.write(lambda chat, again: answered(chat, block, again))

    def quote(self, text: str) -> None:
        self.document.write(lambda chat, again: quoted(chat, text, again))

    async def _prompt(self, message: str, draft: SentDraft | None) -> str:
        session = await self._opened()
        self._sessions.refuse_unusable(session.agent.state.model, session.id)
        note = self._sessions.note(session, None)
        try:
            started = session.prompt((TextBlock(message),), note=note)
        except AgentBusy:
            busy = "The agent is at work. Steer it or stop it, or send this as a follow-up."
            raise fault(protocol.BUSY, busy) from None
        self._keep(message, draft, started.run_id)
        return started.run_id

    async def _deliver(self, message: str, draft: SentDraft | None, *, steer: bool) -> Delivery:
        session = await self._opened()
        if not session.takes_messages:
            self._sessions.refuse_unusable(session.agent.state.model, session.id)
        send = session.steer if steer else session.follow_up
        delivery = send((TextBlock(message),))
        self._keep(message, draft, delivery.run_id, queued=delivery.delivery != "prompted")
        return delivery

    def _unsent(self, shown: str) -> str:
        message = self._sent.unsent(shown)
        if not message:
            raise invalid("text", _SENT_ALREADY if shown else _NO_DRAFT)
        return message

    @contextmanager
    def _sending(self, message: str) -> Generator[SentDraft]:
        draft = self._sent.add(message)
        with self._dropping(draft):
            yield draft

    @contextmanager
    def _dropping(self, draft: SentDraft) -> Generator[None]:
        """A draft that could not be sent can be sent again."""
        try:
            yield
        except BaseException:
            self._sent.done(draft)
            raise

    async def _opened(self) -> AgentSession:
        if self.session is None or self.session.closed:
            session = await self._sessions.create(by_commands=True, for_prompt=True)
            if not self._begun_anew:
                self._note_beginning(await self._text())
            self._begun_anew = False
            view = ChatView(session, self.document, grew=lambda: self.grew())
            self._unsubscribe = session.agent.subscribe(view)
            self.session = session
            await asyncio.to_thread(self._memory.store, session.id)
        return self.session

    def _note_beginning(self, text: str) -> None:
        if has_answers(text) and not self._begun_anew:
            self.document.write(lambda chat, again: noted(chat, _UNSEEN, again))
            self._begun_anew = True

    def _keep(
        self, message: str, draft: SentDraft | None, run_id: str | None, *, queued: bool = False
    ) -> None:
        """Put the message into the document; one that is queued stands there where the model reads it."""
        self.last_run = run_id or self.last_run
        if draft is not None:
            draft.run_id = run_id
            self.document.write(draft.take_out if queued else draft.put_down, partial(self._taken, draft))
        elif not queued:
            self.document.write(partial(_said, message))

    def _taken(self, draft: SentDraft) -> None:
        self._sent.done(draft)
        self.follow()

    def _look(self, document: Document) -> None:
        if self._sent and not document.doubt:
            self._sent.look(document.text)

    async def _text(self) -> str:
        try:
            return await self.document.text()
        except ToolError as error:
            raise RequestFault(REQUEST_FAILED, str(error)) from None


def _not_empty(text: str) -> str:
    if not text.strip():
        raise invalid("text", "the message is empty")
    return text.strip()


def _said(message: str, text: str, again: bool) -> str:
    return said(text, message, again)
