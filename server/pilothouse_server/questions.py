"""Puts the model's questions to the user."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from pilothouse_agent.kernel.parts import random_id
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.visible import visible
from pilothouse_server import method_names as names
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc

__all__ = ["ClientAsker", "MessageAsker"]


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
        return _text(await _asked(self._rpc, names.ASK, params), "answer")


class MessageAsker:
    """By `window/showMessageRequest`, one such message at a time on a connection."""

    needs_options = True

    def __init__(self, rpc: Rpc, turn: asyncio.Lock) -> None:
        self._rpc = rpc
        self._turn = turn

    async def ask(self, question: str, options: tuple[str, ...]) -> str | None:
        titles = {visible(option): option for option in options}
        params = {
            "type": 3,
            "message": f"Pilothouse asks: {visible(question, lines=True)}",
            "actions": [{"title": title} for title in titles],
        }
        async with self._turn:
            title = _text(await _asked(self._rpc, names.SHOW_MESSAGE_REQUEST, params), "title")
        return titles.get(title or "")


async def _asked(rpc: Rpc, method: str, params: dict[str, Any]) -> Any:
    try:
        return await rpc.request(method, params, limit=None)
    except RequestFault as error:
        raise ToolError(f"The question could not be shown to the user: {error}") from None
    except ClientGone:
        raise ToolError("The user is gone; nobody can be asked.") from None


def _text(answer: Any, field: str) -> str | None:
    value = cast("dict[str, Any]", answer).get(field) if isinstance(answer, dict) else None
    return value if isinstance(value, str) else None
