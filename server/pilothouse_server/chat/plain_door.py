"""The door for editors without a plugin: commands, code actions and the chat document."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Coroutine
from typing import Any

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.chat.chat import Chat
from pilothouse_server.chat.chat_document import ChatDocument
from pilothouse_server.chat.chat_following import ChatFollowing
from pilothouse_server.chat.chat_markdown import undone_lines
from pilothouse_server.chat.chat_text import asks_to_send
from pilothouse_server.chat.offered_actions import OfferedActions
from pilothouse_server.client.clients import habits_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.chat_place import ChatPlace, claim, is_chat
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.protocol import command_arguments as shapes
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault
from pilothouse_server.protocol.undo import RewindResult
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.sessions.undoing import undo_run
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import REQUEST_FAILED, ClientGone, RequestFault
from pilothouse_server.wire.json_object import Json, json_object

__all__ = ["PlainDoor"]

logger = logging.getLogger(__name__)


_NOTHING_SENT = "Nothing has been sent in this chat yet."
_LAST_WORDS = 0.2
"""Seconds that the chat has to take the end of a run when the server ends."""
_SHOWING = 5.0
"""Seconds the editor has to show a document."""


class PlainDoor:
    def __init__(self, rpc: Rpc, client: Client, editor: EditorSide, sessions: Sessions) -> None:
        self._rpc = rpc
        self._client = client
        self._editor = editor
        self._sessions = sessions
        self._habits = habits_of(client.name)
        self._chat: Chat | None = None
        self._claiming: asyncio.Task[Chat] | None = None
        self._following: ChatFollowing | None = None
        self._offered = OfferedActions(client, editor, sessions, chat_at=self._chat_at)
        self._sending: set[asyncio.Task[None]] = set()
        self._forget = editor.documents.watch(self._hear)
        if not client.wants_events:
            self._in_background(self._take_up())

    async def close(self) -> None:
        self._forget()
        if self._chat is not None:
            await self._chat.document.settled(_LAST_WORDS)
            self._chat.document.close()

    async def prompt(self, given: shapes.MessageArguments) -> shapes.StartedResult:
        chat = await self._chat_of(given.session_id)
        run_id = await chat.prompt(given.text)
        return shapes.StartedResult(session_id=_id(chat), run_id=run_id)

    async def deliver(self, given: shapes.MessageArguments, *, steer: bool) -> shapes.DeliveredResult:
        chat = await self._chat_of(given.session_id)
        done = await chat.deliver(given.text, steer=steer)
        return shapes.DeliveredResult(
            session_id=_id(chat), run_id=done.run_id, queue_id=done.queue_id, delivery=done.delivery
        )

    async def abort(self, given: shapes.AbortArguments) -> shapes.AbortedResult:
        """Answers at once; the run may take a moment to settle."""
        if given.session_id is not None and not self._is_chats(given.session_id):
            session = self._sessions.get(given.session_id)
            run_id = session.agent.run_id
            session.abort()
            return shapes.AbortedResult(session_id=session.id, run_id=run_id)
        chat = await self._current()
        run_id = await chat.stop()
        return shapes.AbortedResult(session_id=chat.session.id if chat.session else None, run_id=run_id)

    async def new_chat(self) -> shapes.ChatResult:
        chat = await self._current()
        await chat.begin_anew()
        return await self._shown(chat)

    async def open_chat(self) -> shapes.ChatResult:
        return await self._shown(await self._current())

    async def quote(self, given: shapes.QuoteArguments) -> shapes.ChatResult:
        chat = await self._current()
        chat.quote(given.text)
        await chat.document.settled(_SHOWING)
        return await self._shown(chat)

    async def undo_run(self, given: shapes.UndoArguments) -> RewindResult:
        chat = await self._current()
        if chat.session is None:
            await chat.recall()
        session_id = given.session_id or (chat.earlier if chat.session is None else chat.session.id)
        if session_id is None:
            raise fault(protocol.NOT_RUNNING, _NOTHING_SENT)
        undone = await undo_run(self._sessions, session_id, given.run_id, merge=given.merge)
        if self._is_chats(session_id) or session_id == chat.earlier:
            chat.tell(undone_lines(undone))
        return undone

    def offer(self, params: Json) -> list[Json] | Awaitable[list[Json]]:
        """The code actions of a place; they wait for the chat while it is being claimed."""
        if self._claiming is not None and self._chat is None:
            return self._offer_later(self._claiming, params)
        if self._following is not None:
            self._following.asked(params)
        return self._offered.answer(params)

    async def _offer_later(self, claiming: asyncio.Task[Chat], params: Json) -> list[Json]:
        await asyncio.wait({claiming})
        return self._offered.answer(params)

    def _hear(self, document: Document, event: DocumentEvent) -> None:
        if self._client.wants_events or not is_chat(document.path):
            return
        if event == "opened":
            self._in_background(self._take_up(opened=True))
        elif event == "saved" and not document.doubt:
            self._saved(document, document.text)

    async def _take_up(self, *, opened: bool = False) -> None:
        """A chat that is there is taken up at once: what an earlier server left in it is marked."""
        folder = next(iter(self._editor.folders.paths), None)
        if folder is not None and (opened or await asyncio.to_thread(os.path.isfile, ChatPlace(folder).path)):
            await self._current()

    def _saved(self, document: Document, text: str) -> None:
        if not asks_to_send(text):
            return
        if self._chat is None:
            self._in_background(self._send_when_claimed(document, text))
        elif (sending := self._sending_of(self._chat, document, text)) is not None:
            self._in_background(sending)

    async def _send_when_claimed(self, document: Document, text: str) -> None:
        sending = self._sending_of(await self._current(), document, text)
        if sending is not None:
            await sending

    def _sending_of(self, chat: Chat, document: Document, text: str) -> Coroutine[Any, Any, None] | None:
        if chat.document.is_at(document.uri) or document.path == chat.document.path:
            return chat.saved(text)
        self._complain(f"Another server holds this chat; yours is {chat.document.name}.")
        return None

    def _in_background(self, sending: Coroutine[Any, Any, None]) -> None:
        async def told() -> None:
            try:
                await sending
            except (RequestFault, ClientGone) as error:
                self._complain(str(error))

        task = asyncio.create_task(told())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _complain(self, text: str) -> None:
        logger.warning("The chat: %s", text)
        self._rpc.notify(names.SHOW_MESSAGE, self._habits.warning(text))

    async def _chat_of(self, session_id: str | None) -> Chat:
        if session_id is None or self._is_chats(session_id):
            return await self._current()
        self._sessions.get(session_id)
        text = f"The session {session_id!r} is not the one of the chat; use agent/prompt for it."
        raise fault(protocol.UNKNOWN_SESSION, text)

    def _is_chats(self, session_id: str) -> bool:
        session = self._chat.session if self._chat is not None else None
        return session is not None and session.id == session_id

    async def _current(self) -> Chat:
        """The chat of this connection, in the folder that is first when it is first used."""
        if self._claiming is None or (self._claiming.done() and self._chat is None):
            folders = self._editor.folders.paths
            if not folders:
                raise RequestFault(REQUEST_FAILED, "Open a folder first: the chat is kept in it.")
            self._claiming = asyncio.create_task(self._claim(folders[0]))
        return await asyncio.shield(self._claiming)

    async def _claim(self, folder: str) -> Chat:
        place = await asyncio.to_thread(claim, folder)
        files, editor = self._sessions.files.quiet(), self._editor
        document = ChatDocument(place, files, editor.documents, editor.uris.of)
        chat = self._chat = Chat(document, self._sessions, self._sessions.chat_memory(place.key))
        if self._client.can("window", "showDocument", "support"):
            following = self._following = ChatFollowing(
                self._rpc, self._editor.documents, document, tells_cursor=self._habits.tells_cursor
            )
            chat.follow, chat.grew = following.sent, following.grew
        self._in_background(chat.recall())
        self._in_background(chat.mark())
        return chat

    def _chat_at(self, document: Document) -> Chat | None:
        chat = self._chat
        return chat if chat is not None and chat.document.is_at(document.uri) else None

    async def _shown(self, chat: Chat) -> shapes.ChatResult:
        try:
            await chat.document.made()
        except ToolError as error:
            raise RequestFault(REQUEST_FAILED, str(error)) from None
        uri = chat.document.uri
        if not self._client.can("window", "showDocument", "support"):
            self._rpc.notify(names.SHOW_MESSAGE, {"type": 3, "message": f"The chat is {chat.document.name}"})
            return shapes.ChatResult(uri=uri, shown=False)
        try:
            params = {"uri": uri, "takeFocus": True}
            answer = await self._rpc.request(names.SHOW_DOCUMENT, params, limit=_SHOWING)
        except (RequestFault, ClientGone, TimeoutError):
            answer = None
        return shapes.ChatResult(uri=uri, shown=json_object(answer).get("success") is True)


def _id(chat: Chat) -> str:
    if chat.session is None:
        raise fault(protocol.NOT_RUNNING, _NOTHING_SENT)
    return chat.session.id
