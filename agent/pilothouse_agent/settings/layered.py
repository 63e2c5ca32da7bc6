"""The settings of several layers, nearer ones over farther ones; bad input is reported and never stops
anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.layers import Layer, PermissionSource
from pilothouse_agent.settings.keys import KEYS, flattened, read_value, unknown_key
from pilothouse_agent.settings.provider_entries import with_entries, without_keys
from pilothouse_agent.settings.settings import Settings

__all__ = ["merged", "with_values"]

_WITHOUT_EFFECT = {"hooks": "this version runs none, so it has no effect."}
"""Settings that are known and do nothing."""


def with_values(
    settings: Settings,
    values: Mapping[str, JsonValue],
    *,
    layer: Layer = Layer.USER,
    trusted: bool = True,
) -> tuple[Settings, list[str]]:
    """The settings changed by the values of a nearer layer, and a sentence for each value not taken.

    Keys may be dotted or nested; null counts as absent. What is not taken leaves the old value in
    place. In a workspace that is not `trusted`, layers that come from it may not loosen the mode,
    name providers or hooks; what their permissions allow is left out later. No such layer may say
    what is trusted.
    """
    changes: dict[str, Any] = {}
    problems: list[str] = []
    guarded = layer.comes_from_workspace and not trusted
    for name, value in flattened(values):
        key = KEYS.get(name)
        if key is None:
            problems.append(unknown_key(name))
            continue
        try:
            taken = read_value(key, value)
            if name == "providers":
                taken, refused = without_keys(taken, layer)
                problems += refused
            changes[key.field] = _taken(settings, key.field, taken, layer, guarded=guarded)
            if name in _WITHOUT_EFFECT:
                problems.append(f"{name}: {_WITHOUT_EFFECT[name]}")
        except ValueError as error:
            problems.append(f"{name}: {error} {_kept(settings, key.field)}")
    return replace(settings, **changes), problems


def merged(layers: Mapping[Layer, Mapping[str, JsonValue]], *, trusted: bool) -> tuple[Settings, list[str]]:
    """The settings of all layers, nearer ones over farther ones, and a sentence for each value not taken.

    The command line wins over the editor, that over the environment, that over the project's file,
    that over the user's.
    """
    settings, problems = Settings(), list[str]()
    for layer in sorted(layers):
        settings, found = with_values(settings, layers[layer], layer=layer, trusted=trusted)
        problems += [f"In the {layer} settings, {problem}" for problem in found]
    return settings, problems


def _taken(settings: Settings, field: str, value: Any, layer: Layer, *, guarded: bool) -> Any:
    """The new value of a field. Raises `ValueError` when the layer may not set it."""
    if field == "trust_folders" and layer.comes_from_workspace:
        raise ValueError(
            f"the {layer} settings may never set this; it may stand in your own config.toml, in the "
            "environment or on the command line."
        )
    if guarded and (
        field in ("providers", "hooks")
        or (field == "mode" and cast("ApprovalMode", value).is_looser_than(settings.mode))
    ):
        raise ValueError(f"the {layer} settings may not set this in a workspace that is not trusted.")
    if field == "permissions":
        return (*_permissions_without(settings, layer), PermissionSource(layer, value))
    if field == "providers":
        return with_entries(settings.providers or {}, value)
    return value


def _permissions_without(settings: Settings, layer: Layer) -> list[PermissionSource]:
    return [source for source in settings.permissions if source.layer is not layer]


def _kept(settings: Settings, field: str) -> str:
    value = getattr(settings, field)
    if field in ("providers", "permissions", "hooks", "trust_folders", "files_encodings"):
        return "It is ignored."
    return f"It stays {'unset' if value is None else value}."
