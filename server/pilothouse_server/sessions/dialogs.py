"""Questions by `window/showMessageRequest`, where keys that are meant for a text cannot answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from pilothouse_agent.settings.settings import Dialog
from pilothouse_agent.tools.visible import visible
from pilothouse_server.client.clients import Habits
from pilothouse_server.documents.quiet import Quiet
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import RequestFault

__all__ = ["Closed", "Dialogs"]

_LINES = 30
_COLUMNS = 200
_REFRESH = 1.0
"""Seconds the client has to tell what it holds back."""


class Closed(Exception):
    """The message is gone, which may not have been the user's doing."""


class Dialogs:
    """Of one connection. One is open at a time, because editors show one and answer in whatever order."""

    def __init__(
        self,
        rpc: Rpc,
        quiet: Quiet,
        *,
        habits: Habits,
        shown: bool,
        setting: Callable[[], Dialog],
        tells_when_refreshed: bool = False,
    ) -> None:
        """`shown`: the client shows message requests at all; `setting` is asked before each. For the last
        one see `Client.tells_when_refreshed`."""
        self._rpc = rpc
        self._quiet = quiet
        self._habits = habits
        self._shown = shown
        self._setting = setting
        self._tells_when_refreshed = tells_when_refreshed
        self._turn = asyncio.Lock()

    @property
    def used(self) -> bool:
        setting = self._setting()
        return self._shown and (setting == "quiet" or (setting == "auto" and self._habits.keeps_keys_out))

    async def choose(self, kind: int, lines: Sequence[str], titles: Sequence[str]) -> object:
        """Wait for a quiet moment, then for the title that the user chooses, which may be nonsense.

        `kind` is LSP's `MessageType`. Raises `Closed`, and what `Rpc.request` raises.
        """
        params = {
            "type": kind,
            "message": self._text(lines),
            "actions": [{"title": title} for title in titles],
        }
        async with self._turn:
            await self._calm()
            answer = await self._rpc.request(names.SHOW_MESSAGE_REQUEST, params, limit=None)
        title: object = cast("dict[str, Any]", answer).get("title") if isinstance(answer, dict) else None
        if title is None and self._habits.may_lose_messages:
            raise Closed
        return title

    async def _calm(self) -> None:
        """Nobody types, and the client holds back nothing that was typed."""
        await self._quiet.come()
        while self._tells_when_refreshed:
            with suppress(RequestFault, TimeoutError):
                await self._rpc.request(names.SEMANTIC_TOKENS_REFRESH, None, limit=_REFRESH)
            if self._quiet.now:
                return
            await self._quiet.come()

    def _text(self, lines: Sequence[str]) -> str:
        """As much as a message can hold."""
        shown = [_cut(visible(line)) for line in lines]
        if len(shown) > _LINES:
            shown[_LINES - 1 :] = [f"… {len(shown) - _LINES + 1} more lines"]
        return ("  ↵\n" if self._habits.joins_lines else "\n").join(shown)


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"
