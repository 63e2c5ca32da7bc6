"""A conversation that is held in a document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.session.agent_session import AgentSession, Delivery
from pilothouse_server import protocol
from pilothouse_server.chat_document import ChatDocument
from pilothouse_server.chat_memory import ChatMemory
from pilothouse_server.chat_text import answered, draft_of, has_answers, noted, quoted, said, sent
from pilothouse_server.chat_view import ChatView
from pilothouse_server.faults import fault, invalid
from pilothouse_server.sessions import Sessions
from pilothouse_server.transport.faults import REQUEST_FAILED, RequestFault

__all__ = ["Chat"]

_SETTLE = 5.0
"""Seconds the document has to take what belongs to the old conversation."""
_UNSEEN = "*A new conversation: the model does not see what is above.*"
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
        self._begun_anew = False
        """The document says already that the model does not know its beginning."""

    @property
    def busy(self) -> bool:
        return self.session is not None and self.session.agent.busy and not self.session.agent.ending

    @property
    def draft(self) -> str:
        """What is written for the next message in the open document."""
        document = self.document.document
        return "" if document is None or document.doubt else draft_of(document.text)

    async def recall(self) -> None:
        """Learn which session was the last one, of an earlier process too."""
        self.earlier = await asyncio.to_thread(self._memory.load)

    async def prompt(self, text: str | None) -> str:
        """Send `text`, or the draft; the run that it starts."""
        async with self._turn:
            message = await self._message(text)
            session = await self._opened()
            self._sessions.refuse_unusable(session.agent.state.model, session.id)
            note = self._sessions.note(session, None)
            try:
                started = session.prompt((TextBlock(message),), note=note)
            except AgentBusy:
                busy = "The agent is at work. Steer it or stop it, or send this as a follow-up."
                raise fault(protocol.BUSY, busy) from None
            self._keep(text, message, started.run_id)
            return started.run_id

    async def deliver(self, text: str | None, *, steer: bool) -> Delivery:
        """Steer, or queue a follow-up; either begins a run when there is none."""
        async with self._turn:
            message = await self._message(text)
            session = await self._opened()
            if not session.takes_messages:
                self._sessions.refuse_unusable(session.agent.state.model, session.id)
            send = session.steer if steer else session.follow_up
            delivery = send((TextBlock(message),))
            self._keep(text, message, delivery.run_id)
            return delivery

    async def send_saved(self) -> None:
        """Send the draft as the end of the document asks for it."""
        if self.busy:
            await self.deliver(None, steer=True)
        else:
            await self.prompt(None)

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
            if self._unsubscribe is not None:
                self._unsubscribe()
            await self.recall()
            self.session = self._unsubscribe = self.last_run = None
            await self.document.settled(_SETTLE)
            self._note_beginning(await self._text())

    def tell(self, block: str) -> None:
        """Write into the document what happened outside a run."""
        self.document.write(lambda chat, again: answered(chat, block, again))

    def quote(self, text: str) -> None:
        self.document.write(lambda chat, again: quoted(chat, text, again))

    async def _message(self, text: str | None) -> str:
        message = (text if text is not None else draft_of(await self._text())).strip()
        if not message:
            raise invalid("text", "the message is empty" if text is not None else _NO_DRAFT)
        return message

    async def _opened(self) -> AgentSession:
        if self.session is None or self.session.closed:
            session = await self._sessions.create(by_commands=True, for_prompt=True)
            if not self._begun_anew:
                self._note_beginning(await self._text())
            self._begun_anew = False
            self._unsubscribe = session.agent.subscribe(ChatView(session, self.document))
            self.session = session
            await asyncio.to_thread(self._memory.store, session.id)
        return self.session

    def _note_beginning(self, text: str) -> None:
        if has_answers(text) and not self._begun_anew:
            self.document.write(lambda chat, again: noted(chat, _UNSEEN, again))
            self._begun_anew = True

    def _keep(self, text: str | None, message: str, run_id: str | None) -> None:
        self.last_run = run_id or self.last_run
        self.document.write(partial(_sent if text is None else _said, message))

    async def _text(self) -> str:
        try:
            return await self.document.text()
        except ToolError as error:
            raise RequestFault(REQUEST_FAILED, str(error)) from None


def _sent(message: str, text: str, again: bool) -> str:
    return sent(text, message, again)


def _said(message: str, text: str, again: bool) -> str:
    return said(text, message, again)
