"""One prompt with a server: open it, ask, and see to it that it ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pilothouse_cli.headless import JsonRpcClient, RpcError, ServerGone
from pilothouse_cli.run.options import RunOptions
from pilothouse_cli.run.stops import Stop, Stopped, Stops
from pilothouse_cli.run.view import View
from pilothouse_server.wire.client_name import CLIENT_NAME
from pilothouse_server.wire.json_object import Json
from pilothouse_server.wire.method_names import (
    ABORT,
    PROMPT,
    SESSION_LIST,
    SESSION_LOAD,
    SESSION_NEW,
    SET_MODEL,
)

__all__ = ["Conversation"]


_OPENING = 30.0
_SETTLING = 45.0
"""Seconds; a write in flight may take 30 of them, a tool that does not listen 5."""

_WHY: dict[Stop | None, str] = {
    Stop.INTERRUPTED: "stopping; press Ctrl-C again to end at once",
    Stop.TERMINATED: "stopping",
    Stop.HUNG_UP: "stopping",
    Stop.TIMED_OUT: "the time that --timeout gives is over; stopping",
}
"""Where the reader has gone there is nothing to say."""


class Conversation:
    """`asks` says whether this client answers approvals."""

    def __init__(
        self, client: JsonRpcClient, options: RunOptions, stops: Stops, view: View, *, asks: bool
    ) -> None:
        self._client = client
        self._options = options
        self._stops = stops
        self._view = view
        self._asks = asks
        self._goes_on = options.session is not None or options.continue_

    async def hold(self, server: Sequence[str], environment: Mapping[str, str] | None = None) -> Json:
        """Starts the server. The prompt's result, or one of the same form that says why there is none."""
        try:
            session_id = await self._stops.race(self._open(server, environment))
            asked = {"sessionId": session_id, "text": self._options.text}
            if self._goes_on and self._options.approve is not None:
                asked["mode"] = self._options.approve
            prompt = self._client.request(PROMPT, asked)
            try:
                return await self._stops.race(asyncio.shield(prompt), limit=self._options.timeout)
            except Stopped:
                return await self._aborted(session_id, prompt)
        except Stopped:
            return _ended("aborted")
        except TimeoutError:
            return _failed("timeout", f"The server did not start within {_OPENING:.0f} s.")
        except RpcError as error:
            return _failed(error.kind or "internal", error.message)
        except ServerGone as error:
            return _ended("aborted") if self._stops.cause is not None else _failed("internal", str(error))

    async def _open(self, server: Sequence[str], environment: Mapping[str, str] | None) -> str:
        options = self._options
        async with asyncio.timeout(_OPENING):
            await self._client.start(server, env=environment)
            await self._client.handshake(_introduction(options, asks=self._asks))
            session_id = options.session or (await self._last() if options.continue_ else None)
            if session_id is not None:
                return await self._loaded(session_id)
            params: Json = {"cwd": str(options.cwd), "mode": options.approve}
            if options.model is not None:
                params["model"] = options.model
            session = await self._client.request(SESSION_NEW, params)
        return session["sessionId"]

    async def _last(self) -> str:
        """Of the folder; raises an `RpcError` where there is none."""
        listed = await self._client.request(SESSION_LIST, {"cwd": str(self._options.cwd), "limit": 1})
        for session in listed["sessions"]:
            return session["sessionId"]
        raise RpcError(
            0, f"There is no session in {self._options.cwd} to go on with.", {"kind": "unknownSession"}
        )

    async def _loaded(self, session_id: str) -> str:
        await self._client.request(SESSION_LOAD, {"sessionId": session_id})
        if self._options.model is not None:
            await self._client.request(SET_MODEL, {"sessionId": session_id, "model": self._options.model})
        return session_id

    async def _aborted(self, session_id: str, prompt: asyncio.Future[Any]) -> Json:
        """The result of the run after its abort; a server that does not settle is killed."""
        if why := _WHY.get(self._stops.cause):
            self._view.stopping(why)
        self._client.request(ABORT, {"sessionId": session_id})
        await asyncio.wait({prompt}, timeout=_SETTLING)
        if not prompt.done():
            self._stops.force()
        return await prompt


def _introduction(options: RunOptions, *, asks: bool) -> Json:
    folder = {"uri": options.cwd.as_uri(), "name": options.cwd.name}
    about_us: Json = {"settings": options.settings}
    if asks:
        about_us["approvals"] = True
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": CLIENT_NAME},
        "rootUri": folder["uri"],
        "workspaceFolders": [folder],
        "capabilities": {},
        "initializationOptions": {"pilothouse": about_us},
    }


def _failed(kind: str, message: str) -> Json:
    return {**_ended("error"), "error": {"kind": kind, "message": message, "retryable": False}}


def _ended(stop_reason: str) -> Json:
    return {"stopReason": stop_reason, "text": "", "returned": []}
