"""The server around the connection: answers `initialize` at once, loads its parts when they are needed."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from pilothouse_server import handshake
from pilothouse_server import method_names as names
from pilothouse_server.transport.descriptors import Wire, take_stdio
from pilothouse_server.transport.life import Life
from pilothouse_server.transport.rpc import Part, RequestFault, Rpc

if TYPE_CHECKING:
    from pilothouse_server.agent_side import AgentSide
    from pilothouse_server.lsp_side import LspSide

__all__ = ["serve"]

logger = logging.getLogger(__name__)

Json = dict[str, Any]

_SETTLE = 1.0
"""Seconds the runs are given to settle when the server ends."""
_CONFIGURATION = 5.0
"""Seconds the client has to answer workspace/configuration."""
_OF_THE_AGENT = ("agent/", "session/")
_ALSO_OF_THE_AGENT = (names.PROGRESS_CANCEL,)


class Server:
    """One connection's server. Parts are loaded in a thread; messages for them are held in order."""

    def __init__(self, life: Life) -> None:
        self.rpc = Rpc(life.outbox, self)
        self._life = life
        self._version = version("pilothouse")
        self._initialize: Json = {}
        self._client: handshake.Client | None = None
        self._agent: AgentSide | None = None
        self._lsp: LspSide | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._own = _Own(self)

    def initialize(self, params: Json) -> Json:
        self._initialize = params
        client = self._client = handshake.introduce(params)
        if client.process_id is not None:
            self._tasks["parent"] = self._life.watch_parent(client.process_id)
        return handshake.answer(client, self._version)

    def part(self, method: str) -> Part | None:
        if method in (names.INITIALIZED, names.CONFIGURATION_CHANGED):
            return self._own
        if method.startswith(_OF_THE_AGENT) or method in _ALSO_OF_THE_AGENT:
            if self._agent is None:
                self._once("agent", self._load_agent)
            return self._agent
        if self._lsp is None:
            self._once("lsp", self._load_lsp)
        return self._lsp

    async def shut_down(self) -> None:
        """Abort, settle and save every run; what they hold is given back."""
        loading = self._tasks.get("agent")
        if self._agent is None and loading is not None:
            await asyncio.wait({loading})
        if self._agent is not None:
            await self._agent.close(_SETTLE)

    def exit(self, code: int) -> None:
        self._life.end(code, "exit", after_exit=True)

    async def tear_down(self) -> None:
        self.rpc.fail_outgoing()
        await self.shut_down()

    def warm(self) -> None:
        """Load in the background what the client will surely need."""
        self._once("agent", self._load_agent)
        if self._client is not None and self._client.can("textDocument"):
            self._once("lsp", self._load_lsp)

    def pull_configuration(self) -> None:
        self._tasks["configuration"] = asyncio.create_task(self._configure())

    def _once(self, name: str, load: Callable[[], Any]) -> None:
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(load())

    async def _load_agent(self) -> None:
        module = await _imported("pilothouse_server.agent_side")
        places = await _imported("pilothouse_agent.session.places")
        assert self._client is not None
        settings = await asyncio.to_thread(places.user_settings, os.environ)
        agent: AgentSide = module.AgentSide(self.rpc, self._client, os.environ, settings)
        if self._gives_configuration():
            agent.configure(await self._configuration())
        self._agent = agent
        self.rpc.resume()

    async def _load_lsp(self) -> None:
        module = await _imported("pilothouse_server.lsp_side")
        lsp: LspSide = module.LspSide(self.rpc, self._version)
        await lsp.initialize(self._initialize)
        self._lsp = lsp
        self.rpc.resume()

    async def _configure(self) -> None:
        if self._agent is not None and self._gives_configuration():
            self._agent.configure(await self._configuration())

    def _gives_configuration(self) -> bool:
        return self._client is not None and self._client.can("workspace", "configuration")

    async def _configuration(self) -> Json:
        """The editor's settings for us; none when it does not answer in time or makes no sense."""
        params = {"items": [{"section": "pilothouse"}]}
        try:
            answers = await self.rpc.request(names.CONFIGURATION, params, limit=_CONFIGURATION)
        except (RequestFault, TimeoutError) as error:
            logger.warning("The client did not give its configuration: %s", error or "no answer")
            return {}
        first = cast("list[Any]", answers)[0] if isinstance(answers, list) and answers else None
        return cast("Json", first) if isinstance(first, dict) else {}


class _Own:
    """What the server itself hears."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def request(self, method: str, params: Json) -> Any:
        raise RequestFault(-32601, f"{method} is a notification.")

    def notification(self, method: str, params: Json) -> None:
        if method == names.INITIALIZED:
            self._server.warm()
        else:
            self._server.pull_configuration()


def serve() -> int:
    """Serve the client on descriptors 0 and 1 until it ends; the exit code."""
    wire = take_stdio()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    return asyncio.run(_serve(wire))


async def _serve(wire: Wire) -> int:
    life = Life(wire, asyncio.get_running_loop())
    server = Server(life)
    return await life.run(server.rpc, server.tear_down)


async def _imported(name: str) -> Any:
    """Import in a thread, without collecting garbage: everything it makes stays."""
    gc.disable()
    try:
        return await asyncio.to_thread(importlib.import_module, name)
    finally:
        gc.freeze()
        gc.enable()
