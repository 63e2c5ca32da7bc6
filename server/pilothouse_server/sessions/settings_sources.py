"""Where this server's settings come from, and what is wrong with them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.permissions.layers import Layer
from pilothouse_agent.settings.keys import flattened, from_environment
from pilothouse_agent.settings.layered import merged
from pilothouse_agent.settings.settings import Settings
from pilothouse_server.client.handshake import Client
from pilothouse_server.wire.client_name import CLIENT_NAME

__all__ = ["SettingsSources"]

logger = logging.getLogger(__name__)


class SettingsSources:
    def __init__(
        self,
        client: Client,
        environment: Mapping[str, str],
        user: JsonObject,
        wrong: Sequence[str],
    ) -> None:
        """`user` is what the user's file holds, `wrong` what is not right about the file."""
        self._client = client
        self._user = user
        self._from_variables, unknown = from_environment(environment)
        self._wrong = (*wrong, *unknown)
        self._logged: set[str] = set()

    def read(self, configuration: Mapping[str, JsonValue]) -> tuple[Settings, tuple[str, ...]]:
        """All layers together, and a sentence for each thing in them that does not count.

        `configuration` is the client's newest word; of two words of the client the newer counts.
        """
        declared = {**dict(flattened(self._client.settings)), **dict(flattened(configuration))}
        near = Layer.COMMAND_LINE if self._client.name == CLIENT_NAME else Layer.EDITOR
        layers = {Layer.USER: self._user, Layer.ENVIRONMENT: self._from_variables, near: declared}
        settings, problems = merged(layers, trusted=False)
        complaints = (*self._wrong, *problems)
        for complaint in complaints:
            if complaint not in self._logged:
                logger.warning("%s", complaint)
        self._logged.update(complaints)
        return settings, complaints
