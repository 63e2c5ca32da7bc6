"""The server of one client: pygls' language server, with the agent in it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from lsprotocol import types
from pydantic import ValidationError
from pygls.lsp.server import LanguageServer

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_server import __version__
from pilothouse_server.chat.command_errors import CommandErrors
from pilothouse_server.chat.command_methods import register_command_methods, register_commands
from pilothouse_server.chat.door_on_demand import DoorOnDemand
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.document_methods import register_document_methods
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.feature_protocol import FeatureProtocol, converter
from pilothouse_server.protocol.models import ClientFeatures
from pilothouse_server.sessions.approval_methods import register_approval_methods
from pilothouse_server.sessions.client_methods import register_client_methods
from pilothouse_server.sessions.client_settings import ClientSettings
from pilothouse_server.sessions.kept_methods import register_kept_methods
from pilothouse_server.sessions.model_methods import register_model_methods
from pilothouse_server.sessions.run_methods import register_run_methods
from pilothouse_server.sessions.session_methods import register_session_methods
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.sessions.settings_sources import SettingsSources
from pilothouse_server.sessions.undo_methods import register_undo_methods
from pilothouse_server.transport.client_log import ClientLog
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire.faults import RequestFault

__all__ = ["PilothouseServer"]

logger = logging.getLogger(__name__)


class PilothouseServer(LanguageServer):
    """Made once the client has introduced itself. `close` ends every session."""

    protocol: FeatureProtocol  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        rpc: Rpc,
        client: Client,
        environment: Mapping[str, str],
        user_settings: tuple[JsonObject, list[str]],
    ) -> None:
        """`user_settings` are those of the user's file, and what is wrong with it."""
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "pilothouse", __version__, protocol_cls=FeatureProtocol, converter_factory=converter
        )
        self.protocol.rpc = rpc
        self._client = client
        self.editor = EditorSide(client)
        features = _features(client)
        sources = SettingsSources(client, environment, *user_settings)
        settings, complaints = sources.read({})
        self.sessions = Sessions(
            rpc,
            settings=settings,
            complaints=complaints,
            environment=environment,
            client=client,
            editor=self.editor,
            features=features,
        )
        self._settings = ClientSettings(rpc, client, sources, self.sessions)
        self._door = DoorOnDemand(rpc, client, self.editor, self.sessions)
        self._register(rpc, client)
        self._log = ClientLog(features.log, rpc.notify) if features.log is not None else None
        if self._log is not None:
            logging.getLogger().addHandler(self._log)

    def _register(self, rpc: Rpc, client: Client) -> None:
        """Every method and every command there is."""
        register_client_methods(self, rpc, self._settings, self.sessions)
        register_document_methods(self, self.editor)
        register_session_methods(self, self.sessions)
        register_kept_methods(self, self.sessions)
        register_run_methods(self, self.sessions)
        register_approval_methods(self, self.sessions)
        register_model_methods(self, self.sessions)
        register_undo_methods(self, self.sessions)
        errors = CommandErrors(rpc, client)
        register_command_methods(self, self._door, errors, self.protocol.command)
        register_commands(self, self._door, self.sessions)

    @property
    def client_capabilities(self) -> types.ClientCapabilities:
        """As pygls has them; empty where they do not fit the protocol. Ours are asked by `Client.can`."""
        try:
            return self.protocol.structured(types.ClientCapabilities, self._client.capabilities, "initialize")
        except RequestFault as error:
            logger.warning("The client's capabilities are taken as empty: %s", error)
            return types.ClientCapabilities()

    async def close(self, limit: float) -> None:
        await self.sessions.close(limit)
        await self._door.close()
        if self._log is not None:
            logging.getLogger().removeHandler(self._log)


def _features(client: Client) -> ClientFeatures:
    try:
        return ClientFeatures.model_validate(client.declared, by_alias=True, by_name=False)
    except ValidationError as error:
        where = [".".join(map(str, item["loc"])) for item in error.errors()]
        logger.warning("The client's declaration is taken as empty; these do not fit: %s", where)
        return ClientFeatures()
