"""Answers what code actions there are, from where the user is and what the agent does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast

from pilothouse_agent.kernel.questions import Question
from pilothouse_server.chat.chat import Chat
from pilothouse_server.chat.code_actions import (
    OPEN_CHAT,
    chat_actions,
    file_actions,
    fitting,
    question_actions,
)
from pilothouse_server.chat.editor_prompts import Spot
from pilothouse_server.client.clients import habits_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.client.positions import position_in
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.wire.json_object import Json, json_object

__all__ = ["OfferedActions"]


class OfferedActions:
    """Asked at every move of the cursor by some editors, so nothing is looked up on disk."""

    def __init__(
        self,
        client: Client,
        editor: EditorSide,
        sessions: Sessions,
        *,
        chat_at: Callable[[Document], Chat | None],
    ) -> None:
        """`chat_at` knows the chat whose document this is."""
        self._usual = "quickfix" if habits_of(client.name).hides_source_actions else "source"
        self._literals = client.can("textDocument", "codeAction", "codeActionLiteralSupport")
        self._editor = editor
        self._sessions = sessions
        self._chat_at = chat_at

    def answer(self, params: Json) -> list[dict[str, Any]]:
        context = json_object(params.get("context"))
        found = self._for_document(params, context.get("diagnostics"))
        return fitting(found, context.get("only"), literals=self._literals, usual=self._usual)

    def _for_document(self, params: Json, diagnostics: object) -> Iterable[dict[str, Any]]:
        """Open questions can be answered in every file, since that is where the user is."""
        questions = [each for one in self._sessions.all() for each in one.agent.approvals.open]
        document = self._editor.documents.get(str(json_object(params.get("textDocument")).get("uri")))
        chat = self._chat_at(document) if document is not None else None
        if chat is not None:
            return self._in_chat(chat, questions)
        answers = chain.from_iterable(map(question_actions, questions))
        return chain(answers, self._in_file(document, json_object(params.get("range")), diagnostics))

    def _in_chat(self, chat: Chat, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
        return chat_actions(
            draft=chat.draft,
            busy=chat.busy,
            questions=questions,
            undo=_undoable(chat),
            begun=chat.session is not None,
        )

    def _in_file(self, document: Document | None, span: Json, listed: object) -> Iterable[dict[str, Any]]:
        start, end = position_in(span.get("start")), position_in(span.get("end"))
        if document is None or document.path is None or document.doubt:
            return [OPEN_CHAT]
        if start is None or end is None or end < start:
            return [OPEN_CHAT]
        diagnostics = cast("list[Any]", listed) if isinstance(listed, list) else []
        return file_actions(Spot(document, self._name(document.path), start, end), diagnostics)

    def _name(self, path: str) -> str:
        """Relative to the first folder where it is in it."""
        folders = self._editor.folders.paths
        inside = folders and Path(path).is_relative_to(folders[0])
        return str(Path(path).relative_to(folders[0])) if inside else path


def _undoable(chat: Chat) -> dict[str, Any] | None:
    if chat.session is not None:
        return None if chat.last_run is None else {"runId": chat.last_run}
    return None if chat.earlier is None else {}
