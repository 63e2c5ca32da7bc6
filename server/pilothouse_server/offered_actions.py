"""Answers what code actions there are, from where the user is and what the agent does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

from pilothouse_server.chat import Chat
from pilothouse_server.code_actions import chat_actions, file_actions, fitting
from pilothouse_server.document import Document
from pilothouse_server.editor_prompts import Spot
from pilothouse_server.editor_side import EditorSide
from pilothouse_server.handshake import Client
from pilothouse_server.positions import Position
from pilothouse_server.sessions import Sessions

__all__ = ["OfferedActions"]

Json: TypeAlias = Mapping[str, Any]


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
        self._literals = client.can("textDocument", "codeAction", "codeActionLiteralSupport")
        self._editor = editor
        self._sessions = sessions
        self._chat_at = chat_at

    def answer(self, params: Json) -> list[dict[str, Any]]:
        document = self._editor.documents.get(str(_object(params.get("textDocument")).get("uri")))
        if document is None:
            return []
        chat, context = self._chat_at(document), _object(params.get("context"))
        if chat is not None:
            found = self._in_chat(chat)
        else:
            found = self._in_file(document, _object(params.get("range")), context.get("diagnostics"))
        return fitting(found, context.get("only"), literals=self._literals)

    def _in_chat(self, chat: Chat) -> Iterator[dict[str, Any]]:
        return chat_actions(
            draft=chat.draft,
            busy=chat.busy,
            questions=[each for one in self._sessions.all() for each in one.agent.approvals.open],
            undo=_undoable(chat),
            begun=chat.session is not None,
        )

    def _in_file(self, document: Document, span: Json, listed: object) -> Iterator[dict[str, Any]]:
        start, end = _position(span.get("start")), _position(span.get("end"))
        if document.path is None or document.doubt or start is None or end is None or end < start:
            return iter(())
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


def _position(value: Any) -> Position | None:
    fields = _object(value)
    line, character = fields.get("line"), fields.get("character")
    valid = all(type(each) is int and each >= 0 for each in (line, character))
    return Position(cast("int", line), cast("int", character)) if valid else None


def _object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}
