"""What is wrong with settings, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.permissions.layers import Layer
from pilothouse_agent.permissions.permission_config import pipeline_from
from pilothouse_agent.settings.layered import with_values
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.tool_names import OPTIONAL_TOOL_NAMES, TOOL_NAMES

__all__ = ["complaints"]


def complaints(
    values: Mapping[str, JsonValue],
    *,
    layer: Layer,
    over: Settings | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """A sentence for each of these values of one layer that cannot be used or has no effect.

    `over` are the settings of the layers below, whose own faults are not told again; in `environment`
    variables that the values name are looked up.
    """
    before = over or Settings()
    settings, wrong = with_values(before, values, layer=layer)
    old = {*_of_objects(before, environment or {})}
    return [*wrong, *(each for each in _of_objects(settings, environment or {}) if each not in old)]


def _of_objects(settings: Settings, environment: Mapping[str, str]) -> list[str]:
    _, in_providers = read_providers(settings.providers or {}, environment)
    _, in_permissions = pipeline_from(
        settings.permissions, folders=["/"], tools=(*TOOL_NAMES, *OPTIONAL_TOOL_NAMES), trusted=True
    )
    return [*in_providers, *in_permissions]
