"""The agent as a part of the server: its sessions and the methods that reach them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pydantic import ValidationError

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.permissions.rules import Layer
from pilothouse_agent.session.setting_keys import from_environment
from pilothouse_agent.session.settings import Settings, merged
from pilothouse_server import method_names as names
from pilothouse_server.editor_side import EditorSide
from pilothouse_server.handshake import Client
from pilothouse_server.headless import CLIENT_NAME
from pilothouse_server.methods import register_methods
from pilothouse_server.model_methods import register_model_methods
from pilothouse_server.plain_door import PlainDoor
from pilothouse_server.protocol import ClientFeatures
from pilothouse_server.sessions import Sessions
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.typed import Methods
from pilothouse_server.undo_methods import register_undo_methods

__all__ = ["AgentSide"]

logger = logging.getLogger(__name__)


class AgentSide(Methods):
    """Made once the client has introduced itself. `close` ends every session."""

    def __init__(
        self,
        rpc: Rpc,
        client: Client,
        editor: EditorSide,
        environment: Mapping[str, str],
        user_settings: JsonObject,
    ) -> None:
        super().__init__()
        self._client = client
        self._environment = environment
        self._user_settings = user_settings
        self.sessions = Sessions(
            rpc,
            settings=self._settings({}),
            environment=environment,
            client=client,
            editor=editor,
            features=_features(client),
        )
        register_methods(self, self.sessions)
        register_model_methods(self, self.sessions)
        register_undo_methods(self, self.sessions)
        self._door = PlainDoor(rpc, client, editor, self.sessions)
        self._door.register(self)

        @self.heard(names.PROGRESS_CANCEL)
        def cancel_progress(params: JsonObject) -> None:
            self.sessions.cancel_progress(params.get("token"))

        _ = cancel_progress

    def configure(self, values: Mapping[str, JsonValue]) -> None:
        """Take the editor's configuration: for new sessions, and for the next runs of those that are open."""
        self.sessions.configure(self._settings(values))

    async def close(self, limit: float) -> None:
        await self.sessions.close(limit)
        self._door.close()

    def _settings(self, configuration: Mapping[str, JsonValue]) -> Settings:
        """All layers together; what is wrong in them is logged and never stops the server."""
        from_variables, complaints = from_environment(self._environment)
        declared = {**configuration, **self._client.settings}
        near = Layer.COMMAND_LINE if self._client.name == CLIENT_NAME else Layer.EDITOR
        layers = {Layer.USER: self._user_settings, Layer.ENVIRONMENT: from_variables, near: declared}
        settings, problems = merged(layers, trusted=False)
        for problem in (*complaints, *problems):
            logger.warning("%s", problem)
        return settings


def _features(client: Client) -> ClientFeatures:
    try:
        return ClientFeatures.model_validate(client.declared)
    except ValidationError as error:
        where = [".".join(map(str, item["loc"])) for item in error.errors()]
        logger.warning("The client's declaration is taken as empty; these do not fit: %s", where)
        return ClientFeatures()
