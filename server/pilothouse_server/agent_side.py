"""The agent as a part of the server: its sessions and the methods that reach them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pydantic import ValidationError

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_server.chat.door_on_demand import DoorOnDemand
from pilothouse_server.client.habits import habits_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.protocol.models import ClientFeatures
from pilothouse_server.protocol.typed import Methods
from pilothouse_server.sessions.methods import register_methods
from pilothouse_server.sessions.model_methods import register_model_methods
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.sessions.settings_sources import SettingsSources
from pilothouse_server.sessions.undo_methods import register_undo_methods
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names

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
        user_settings: tuple[JsonObject, list[str]],
    ) -> None:
        """`user_settings` are those of the user's file, and what is wrong with it."""
        super().__init__()
        self._rpc = rpc
        self._client = client
        self._sources = SettingsSources(client, environment, *user_settings)
        self._told: set[str] = set()
        settings, complaints = self._sources.read({})
        self.sessions = Sessions(
            rpc,
            settings=settings,
            complaints=complaints,
            environment=environment,
            client=client,
            editor=editor,
            features=_features(client),
        )
        register_methods(self, self.sessions)
        register_model_methods(self, self.sessions)
        register_undo_methods(self, self.sessions)
        self._door = DoorOnDemand(rpc, client, editor, self.sessions)
        self._door.register(self)

        @self.heard(names.PROGRESS_CANCEL)
        def cancel_progress(params: JsonObject) -> None:
            self.sessions.cancel_progress(params.get("token"))

        _ = cancel_progress

    def configure(self, values: Mapping[str, JsonValue]) -> None:
        """Take the editor's configuration: for new sessions, and for the next runs of those that are open."""
        self.sessions.configure(*self._sources.read(values))
        self._tell()

    async def close(self, limit: float) -> None:
        await self.sessions.close(limit)
        await self._door.close()

    def _tell(self) -> None:
        """What is wrong with the settings, to editors that hear of no events."""
        new = [said for said in self.sessions.complaints if said not in self._told]
        self._told.update(new)
        if new and not self._client.wants_events:
            # One line: stock editors stop and ask for a key where a message has several.
            more = f" ({len(new) - 1} more in the log)" if len(new) > 1 else ""
            self._rpc.notify(names.SHOW_MESSAGE, habits_of(self._client.name).warning(f"{new[0]}{more}"))


def _features(client: Client) -> ClientFeatures:
    try:
        return ClientFeatures.model_validate(client.declared, by_alias=True, by_name=False)
    except ValidationError as error:
        where = [".".join(map(str, item["loc"])) for item in error.errors()]
        logger.warning("The client's declaration is taken as empty; these do not fit: %s", where)
        return ClientFeatures()
