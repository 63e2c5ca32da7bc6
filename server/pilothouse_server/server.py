"""The server around the connection: answers `initialize` at once, loads its parts when they are needed."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn

from pilothouse_agent.tools.shell.own_children import OWN_CHILDREN
from pilothouse_server import __version__
from pilothouse_server.client import handshake
from pilothouse_server.client.configuration import Configuration
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.transport.life import Life
from pilothouse_server.transport.logs import log_to_file, log_to_stderr
from pilothouse_server.transport.process import run_process
from pilothouse_server.transport.rpc import Part, Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.descriptors import Wire, take_stdio
from pilothouse_server.wire.faults import INTERNAL_ERROR, METHOD_NOT_FOUND, RequestFault

if TYPE_CHECKING:
    from pilothouse_server.agent_side import AgentSide
    from pilothouse_server.lsp_side import LspSide

__all__ = ["serve"]

logger = logging.getLogger(__name__)

Json = dict[str, Any]

_SETTLE = 1.0
"""Seconds the runs are given to settle when the server ends."""
_OF_THE_AGENT = names.AGENT_REQUESTS | {names.PROGRESS_CANCEL}
_OWN = (names.INITIALIZED, names.CONFIGURATION_CHANGED)
_FEATURES: frozenset[str] = frozenset()
"""Requests that features of pygls answer; only these ever wait for it to be loaded."""


class Server:
    """One connection's server. Parts are loaded in a thread; messages for them are held in order."""

    def __init__(self, life: Life) -> None:
        self.rpc = Rpc(life.outbox, self)
        self._life = life
        self._version = __version__
        self._initialize: Json = {}
        self._client: handshake.Client | None = None
        self._configuration: Configuration | None = None
        self._may_ask = False
        """The client has sent `initialized`; before that it gets no requests."""
        self._editor: EditorSide | None = None
        self._agent: AgentSide | None = None
        self._parts: dict[str, Part] = {"own": _Own(self)}
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None

    def initialize(self, params: Json) -> Json:
        client = handshake.introduce(params)
        self._initialize, self._client = params, client
        self._configuration = Configuration(self.rpc, client)
        self._editor = EditorSide(client)
        if client.process_id is not None:
            self._background.add(self._life.watch_parent(client.process_id))
        return handshake.answer(client, self._version)

    def needs(self, method: str, *, asked: bool) -> bool:
        if asked:
            return method in names.AGENT_REQUESTS or method in _FEATURES
        heard = self._editor is not None and self._editor.hears(method)
        return heard or method in _OWN or method == names.PROGRESS_CANCEL

    def part(self, method: str) -> Part | None:
        if method in _OWN:
            return self._parts["own"]
        if self._editor is not None and self._editor.hears(method):
            return self._editor
        if method in _OF_THE_AGENT:
            return self._loaded("agent", self._load_agent)
        return self._loaded("lsp", self._load_lsp)

    async def shut_down(self) -> None:
        """Abort, settle and save every run; what they hold is given back."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    def exit(self, code: int) -> None:
        self._life.end(code, "exit", after_exit=True)

    def garbled(self, body: bytes) -> None:
        if self._editor is not None:
            self._editor.documents.garbled(body)

    def initialized(self) -> None:
        """Load in the background what the client will surely need."""
        self._may_ask = True
        if self._editor is not None:
            self._editor.start(self.rpc)
        if self._configuration is not None:
            self._in_background(self._configuration.register())
        if self._agent is not None:
            self.configuration_changed({})
        self._loaded("agent", self._load_agent)

    def configuration_changed(self, params: Json) -> None:
        self._in_background(self._reconfigure(params))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _loaded(self, name: str, load: Callable[[], Awaitable[Part]]) -> Part | None:
        if name not in self._loading:
            self._loading[name] = asyncio.create_task(self._load(name, load))
        return self._parts.get(name)

    async def _load(self, name: str, load: Callable[[], Awaitable[Part]]) -> None:
        try:
            self._parts[name] = await load()
        except Exception:
            logger.exception("The part %r could not be loaded", name)
            self._parts[name] = _Missing(name)
        self.rpc.resume()

    async def _load_agent(self) -> Part:
        assert self._client is not None
        module = await _imported("pilothouse_server.agent_side")
        if not self._client.wants_events:
            await _imported("pilothouse_server.chat.plain_door")
        places = await _imported("pilothouse_agent.settings.places")
        await asyncio.to_thread(log_to_file, places.log_file(os.environ))
        assert self._configuration is not None
        assert self._editor is not None
        settings = await asyncio.to_thread(places.read_user_settings, os.environ)
        agent: AgentSide = module.AgentSide(self.rpc, self._client, self._editor, os.environ, settings)
        if self._may_ask:
            await self._configuration.pull()
        agent.configure(self._configuration.values)
        self._agent = agent
        return agent

    async def _load_lsp(self) -> Part:
        module = await _imported("pilothouse_server.lsp_side")
        lsp: LspSide = module.LspSide(self.rpc, self._version)
        try:
            await lsp.initialize(self._initialize)
        except RequestFault as error:
            logger.warning("The client's initialize is taken as empty: %s", error)
            await lsp.initialize(handshake.least(self._initialize))
        return lsp

    async def _reconfigure(self, params: Json) -> None:
        assert self._configuration is not None
        await self._configuration.changed(params)
        if self._agent is not None:
            self._agent.configure(self._configuration.values)

    async def _close(self) -> None:
        for loading in self._loading.values():
            loading.cancel()
        if self._agent is not None:
            await self._agent.close(_SETTLE)


class _Own:
    """What the server itself hears."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def request(self, method: str, params: Json) -> Any:
        raise RequestFault(METHOD_NOT_FOUND, f"There is no request {method!r}.")

    def notification(self, method: str, params: Json) -> None:
        if method == names.INITIALIZED:
            self._server.initialized()
        elif method == names.CONFIGURATION_CHANGED:
            self._server.configuration_changed(params)


class _Missing:
    """Stands in for a part that could not be loaded, so that nobody waits for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def request(self, method: str, params: Json) -> Any:
        text = f"The part {self._name!r} of the server could not be loaded. The log has the details."
        raise RequestFault(INTERNAL_ERROR, text)

    def notification(self, method: str, params: Json) -> None:
        """Nothing can be done with it."""


def serve() -> NoReturn:
    """Serve the client on descriptors 0 and 1 until it ends; ends the process."""
    wire = take_stdio()
    log_to_stderr()
    OWN_CHILDREN.ours = True
    run_process(lambda: _serve(wire))


async def _serve(wire: Wire) -> int:
    life = Life(wire, asyncio.get_running_loop(), force=os._exit)
    server = Server(life)
    return await life.run(server.rpc, server.rpc.close)


async def _imported(name: str) -> Any:
    """Import in a thread, without collecting garbage: everything it makes stays."""
    gc.disable()
    try:
        return await asyncio.to_thread(importlib.import_module, name)
    finally:
        gc.freeze()
        gc.enable()
