"""Puts the model's questions to the user."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

from pilothouse_agent.kernel.parts import random_id
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.visible import visible
from pilothouse_server.sessions.dialogs import Closed, Dialogs
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["ClientAsker", "MessageAsker"]

_INFORMATION = 3


class ClientAsker:
    """For a client that declared `questions`."""

    needs_options = False

    def __init__(self, rpc: Rpc, session_id: str) -> None:
        self._rpc = rpc
        self._session_id = session_id

    async def ask(self, question: str, options: tuple[str, ...]) -> str | None:
        params: dict[str, Any] = {
            "questionId": random_id("question"),
            "sessionId": self._session_id,
            "question": question,
        }
        if options:
            params["options"] = list(options)
        return _text(await _told(self._rpc.request(names.ASK, params, limit=None)))


class MessageAsker:
    """By a message, for an editor whose messages are fit to be answered."""

    needs_options = True

    def __init__(self, dialogs: Dialogs) -> None:
        self._dialogs = dialogs

    async def ask(self, question: str, options: tuple[str, ...]) -> str | None:
        titles = {visible(option): option for option in options}
        lines = f"Pilothouse asks: {question}".split("\n")
        try:
            title = await _told(self._dialogs.choose(_INFORMATION, lines, list(titles)))
        except Closed:
            return None
        return titles.get(title) if isinstance(title, str) else None


async def _told(answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except RequestFault as error:
        raise ToolError(f"The question could not be shown to the user: {error}") from None
    except ClientGone:
        raise ToolError("The user is gone; nobody can be asked.") from None


def _text(answer: Any) -> str | None:
    value = cast("dict[str, Any]", answer).get("answer") if isinstance(answer, dict) else None
    return value if isinstance(value, str) else None
