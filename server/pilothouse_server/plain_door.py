"""The door for editors without a plugin: commands, code actions and the chat document."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server import commands as shapes
from pilothouse_server import method_names as names
from pilothouse_server import protocol
from pilothouse_server.chat import Chat
from pilothouse_server.chat_document import ChatDocument
from pilothouse_server.chat_markdown import undone_lines
from pilothouse_server.chat_text import asks_to_send
from pilothouse_server.command_table import register_commands
from pilothouse_server.document import Document, DocumentEvent
from pilothouse_server.editor_side import EditorSide
from pilothouse_server.faults import fault, invalid
from pilothouse_server.habits import habits_of
from pilothouse_server.handshake import Client
from pilothouse_server.offered_actions import OfferedActions
from pilothouse_server.protocol_undo import RewindResult
from pilothouse_server.sessions import Sessions
from pilothouse_server.transport.faults import REQUEST_FAILED, SERVER_CANCELLED, ClientGone, RequestFault
from pilothouse_server.transport.rpc import Rpc, Waiting
from pilothouse_server.typed import Methods
from pilothouse_server.undo_methods import undo_run

__all__ = ["PlainDoor"]

logger = logging.getLogger(__name__)

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

_NOTHING_SENT = "Nothing has been sent in this chat yet."
_SHOWING = 5.0
"""Seconds the editor has to show a document."""


class PlainDoor:
    def __init__(self, rpc: Rpc, client: Client, editor: EditorSide, sessions: Sessions) -> None:
        self._rpc = rpc
        self._client = client
        self._editor = editor
        self._sessions = sessions
        self._chat: Chat | None = None
        self._commands = Methods()
        self._sending: set[asyncio.Task[None]] = set()
        self._forget = editor.documents.watch(self._hear)
        register_commands(self._commands, self)

    def register(self, methods: Methods) -> None:
        methods.plain(names.EXECUTE_COMMAND, self._execute)
        offered = OfferedActions(self._client, self._editor, self._sessions, chat_at=self._chat_at)
        methods.plain(names.CODE_ACTION, offered.answer)

    def close(self) -> None:
        self._forget()
        if self._chat is not None:
            self._chat.document.close()

    async def prompt(self, given: shapes.MessageArguments) -> shapes.StartedResult:
        chat = self._chat_of(given.session_id)
        run_id = await chat.prompt(given.text)
        return shapes.StartedResult(session_id=_id(chat), run_id=run_id)

    async def deliver(self, given: shapes.MessageArguments, *, steer: bool) -> shapes.DeliveredResult:
        chat = self._chat_of(given.session_id)
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
        chat = self._current()
        run_id = await chat.stop()
        return shapes.AbortedResult(session_id=chat.session.id if chat.session else None, run_id=run_id)

    def answer(self, approval_id: str | None, choose: Callable[[Question], Answer]) -> protocol.EmptyResult:
        """Answer the question of this id, or the only one that is open."""
        of_all = [
            (session, each) for session in self._sessions.all() for each in session.agent.approvals.open
        ]
        meant = [(session, each) for session, each in of_all if approval_id in (None, each.id)]
        if len(meant) > 1:
            listed = "; ".join(f"{each.id} ({each.title})" for _, each in meant)
            raise invalid("approvalId", f"several questions are open; name one of {listed}")
        for session, question in meant:
            if session.agent.approvals.answer(question.id, choose(question)):
                return protocol.EmptyResult()
        raise fault(protocol.ALREADY_RESOLVED, "No such question is open; it may have been answered already.")

    async def new_chat(self) -> shapes.ChatResult:
        chat = self._current()
        await chat.begin_anew()
        return await self._shown(chat)

    async def open_chat(self) -> shapes.ChatResult:
        return await self._shown(self._current())

    async def quote(self, given: shapes.QuoteArguments) -> shapes.ChatResult:
        chat = self._current()
        chat.quote(given.text)
        await chat.document.settled(_SHOWING)
        return await self._shown(chat)

    async def undo_run(self, given: shapes.UndoArguments) -> RewindResult:
        chat = self._current()
        if chat.session is None:
            await chat.recall()
        session_id = given.session_id or (chat.earlier if chat.session is None else chat.session.id)
        if session_id is None:
            raise fault(protocol.NOT_RUNNING, _NOTHING_SENT)
        undone = await undo_run(self._sessions, session_id, given.run_id, merge=given.merge)
        if self._is_chats(session_id) or session_id == chat.earlier:
            chat.tell(undone_lines(undone))
        return undone

    def _execute(self, params: Json) -> Any:
        try:
            command, given = shapes.command_in(params)
            outcome = self._commands.request(command, given)
        except RequestFault as error:
            raise self._put(error) from None
        if isinstance(outcome, Waiting):
            return Waiting(self._plainly(outcome.answer), outcome.on_cancel)
        return outcome

    async def _plainly(self, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except RequestFault as error:
            raise self._put(error) from None

    def _put(self, error: RequestFault) -> RequestFault:
        """As an editor without a plugin shows it: the sentence, and nothing around it."""
        if self._client.wants_events:
            return error
        if not habits_of(self._client.name).shows_codes:
            return RequestFault(error.code, str(error))
        self._rpc.notify(names.SHOW_MESSAGE, {"type": 1, "message": str(error)})
        # Of this code the editor says nothing by itself.
        return RequestFault(SERVER_CANCELLED, str(error))

    def _hear(self, document: Document, event: DocumentEvent) -> None:
        if event == "opened" and self._at_chat_place(document) and not self._client.wants_events:
            self._current()
        saved_chat = event == "saved" and not document.doubt and self._at_chat_place(document)
        if saved_chat and asks_to_send(document.text) and not self._client.wants_events:
            self._in_background(self._current().send_saved())

    def _in_background(self, sending: Coroutine[Any, Any, None]) -> None:
        async def told() -> None:
            try:
                await sending
            except RequestFault as error:
                self._complain(str(error))

        task = asyncio.create_task(told())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _complain(self, text: str) -> None:
        logger.warning("The chat: %s", text)
        self._rpc.notify(names.SHOW_MESSAGE, {"type": 2, "message": f"Pilothouse: {text}"})

    def _chat_of(self, session_id: str | None) -> Chat:
        if session_id is None or self._is_chats(session_id):
            return self._current()
        self._sessions.get(session_id)
        text = f"The session {session_id!r} is not the one of the chat; use agent/prompt for it."
        raise fault(protocol.UNKNOWN_SESSION, text)

    def _is_chats(self, session_id: str) -> bool:
        session = self._chat.session if self._chat is not None else None
        return session is not None and session.id == session_id

    def _current(self) -> Chat:
        """The chat of this connection, in the folder that is first when it is first used."""
        if self._chat is None:
            folders = self._editor.folders.paths
            if not folders:
                raise RequestFault(REQUEST_FAILED, "Open a folder first: the chat is kept in it.")
            files = self._sessions.files.quiet()
            document = ChatDocument(folders[0], files, self._editor.documents, complain=self._complain)
            self._chat = Chat(document, self._sessions, self._sessions.chat_memory(folders[0]))
            self._in_background(self._chat.recall())
        return self._chat

    def _chat_at(self, document: Document) -> Chat | None:
        return self._current() if self._at_chat_place(document) else None

    def _at_chat_place(self, document: Document) -> bool:
        """Without making the chat, which most documents do not need."""
        if self._chat is not None:
            return self._chat.document.is_at(document.uri)
        folders = self._editor.folders.paths
        return bool(folders) and document.path == str(Path(folders[0], ".pilothouse", "chat.md"))

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
        return shapes.ChatResult(uri=uri, shown=_object(answer).get("success") is True)


def _id(chat: Chat) -> str:
    if chat.session is None:
        raise fault(protocol.NOT_RUNNING, _NOTHING_SENT)
    return chat.session.id


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Json", value) if isinstance(value, dict) else {}
