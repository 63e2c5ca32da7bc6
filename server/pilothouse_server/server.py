"""The server: pygls' registry and LSP features on our own transport. Handlers are thin."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Generator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pydantic import ValidationError
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter, lsp_method

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.permissions.rules import Layer
from pilothouse_agent.session.places import user_settings_path
from pilothouse_agent.session.setting_keys import from_environment, load_file
from pilothouse_agent.session.settings import Settings, merged
from pilothouse_server import protocol
from pilothouse_server.headless import CLIENT_NAME
from pilothouse_server.methods import register_methods
from pilothouse_server.sessions import Sessions
from pilothouse_server.transport.descriptors import Wire, take_stdio
from pilothouse_server.transport.life import Life
from pilothouse_server.transport.rpc import NOT_INITIALIZED, AgentProtocol, RequestFault

__all__ = ["serve"]

logger = logging.getLogger(__name__)

_SETTLE = 2.0
"""Seconds the runs are given to settle when the server ends."""


class ServerProtocol(AgentProtocol):
    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = {
            "pilothouse": {
                "protocolVersion": protocol.PROTOCOL_VERSION,
                "features": list(protocol.FEATURES),
            }
        }
        return result


class PilothouseServer(LanguageServer):
    """One connection. `sessions` exist once the client has sent `initialize`."""

    def __init__(
        self, environment: Mapping[str, str], user_settings: Mapping[str, JsonValue], life: Life
    ) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "pilothouse",
            version("pilothouse"),
            protocol_cls=ServerProtocol,
            converter_factory=default_converter,
        )
        self._environment = environment
        self._user_settings = user_settings
        self._life = life
        self._sessions: Sessions | None = None
        self._parent: asyncio.Task[None] | None = None
        self.rpc = cast("ServerProtocol", self.protocol)
        self.rpc.outbox = life.outbox
        self.rpc.on_shutdown = self.close_sessions
        self.rpc.on_exit = lambda code: life.end(code, "exit", after_exit=True)
        register_methods(self, self.sessions)

        @self.feature(types.INITIALIZE)
        def open_connection(params: types.InitializeParams) -> None:
            self._open(params)

        _ = open_connection

    def sessions(self) -> Sessions:
        """Raises a fault before `initialize`."""
        if self._sessions is None:
            raise RequestFault(NOT_INITIALIZED, "Send initialize first.")
        return self._sessions

    async def close_sessions(self) -> None:
        """Abort, settle and save every run; what they hold is given back."""
        if self._sessions is not None:
            await self._sessions.close(_SETTLE)

    async def tear_down(self) -> None:
        self.rpc.fail_outgoing()
        await self.close_sessions()

    def report_server_error(self, error: Exception, source: object) -> None:
        """To the log; a client is told by the answer to its request."""
        logger.error("pygls reports: %s", error)

    def _open(self, params: types.InitializeParams) -> None:
        features, values = _declared(self.rpc.raw_initialize)
        settings = self._settings(values, _layer(params.client_info))
        self._sessions = Sessions(
            self.rpc,
            settings=settings,
            environment=self._environment,
            features=features,
            folders=_folders(params),
        )
        if params.process_id is not None:
            self._parent = self._life.watch_parent(params.process_id)

    def _settings(self, declared: Mapping[str, JsonValue], layer: Layer) -> Settings:
        """All layers together; what is wrong in them is logged and never stops the server."""
        environment, complaints = from_environment(self._environment)
        layers = {
            Layer.USER: self._user_settings,
            Layer.ENVIRONMENT: environment,
            layer: declared,
        }
        settings, problems = merged(layers, trusted=False)
        for problem in (*complaints, *problems):
            logger.warning("%s", problem)
        return settings


def serve() -> int:
    """Serve the client on descriptors 0 and 1 until it ends; the exit code."""
    wire = take_stdio()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("pygls").setLevel(logging.ERROR)
    user_settings, complaints = load_file(user_settings_path(os.environ))
    for complaint in complaints:
        logger.warning("%s", complaint)
    return asyncio.run(_serve(wire, user_settings))


async def _serve(wire: Wire, user_settings: Mapping[str, JsonValue]) -> int:
    life = Life(wire, asyncio.get_running_loop())
    server = PilothouseServer(os.environ, user_settings, life)
    return await life.run(server.rpc, server.tear_down)


def _declared(initialize: dict[str, Any]) -> tuple[protocol.ClientFeatures | None, dict[str, Any]]:
    """What the client says of itself, and the settings it sends along. None: it did not say anything."""
    options = _object(_object(initialize.get("initializationOptions")).get("pilothouse"))
    capabilities = _object(initialize.get("capabilities"))
    experimental = _object(capabilities.get("experimental")).get("pilothouse")
    declared = {**_object(experimental), **options}
    if experimental is None and "pilothouse" not in _object(initialize.get("initializationOptions")):
        return None, {}
    try:
        return protocol.ClientFeatures.model_validate(declared), _object(declared.get("settings"))
    except ValidationError as error:
        logger.warning("The client's declaration does not fit and is taken as empty: %s", error)
        return protocol.ClientFeatures(), _object(declared.get("settings"))


def _layer(client: types.ClientInfo | None) -> Layer:
    """Our own headless client passes on what was typed; an editor's settings may come from the workspace."""
    return Layer.COMMAND_LINE if client is not None and client.name == CLIENT_NAME else Layer.EDITOR


def _folders(params: types.InitializeParams) -> list[str]:
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    paths = [unquote(urlsplit(uri).path) for uri in uris if uri.startswith("file:")]
    return paths or [str(Path.cwd())]


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
