"""What layers may say of providers: keys and commands that print keys stand in the user's own file only."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.choosing.provider_entry import is_variable
from pilothouse_agent.permissions.layers import Layer
from pilothouse_agent.settings.dotted_keys import merged_objects

__all__ = ["with_entries", "without_exposed_keys", "without_keys"]

_OTHERS_READ = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ONLY_THE_USERS = {
    "key": ": a key may stand in your own config.toml only; name a variable that holds it. It is ignored.",
    "keyCommand": ": it may stand in your own config.toml only. It is ignored.",
}


def with_entries(far: JsonObject, near: JsonObject) -> JsonObject:
    """The entries of two layers. One that names an address takes nothing over from the farther layer:
    the key there was not meant for it."""
    replaced: JsonObject = {
        name: {} for name, entry in near.items() if isinstance(entry, dict) and "baseUrl" in entry
    }
    return merged_objects({**far, **replaced}, near)


def without_keys(providers: JsonObject, layer: Layer) -> tuple[JsonObject, list[str]]:
    """The entries without what only the user's own file may hold, and a sentence for each such thing."""
    return (providers, []) if layer is Layer.USER else _without(providers, _ONLY_THE_USERS)


def without_exposed_keys(path: Path, values: JsonObject) -> tuple[JsonObject, list[str]]:
    """What the user's file holds without the keys that other users of the machine may know. Blocks."""
    providers = values.get("providers")
    if not isinstance(providers, dict) or os.name == "nt":
        return values, []
    try:
        mode = path.stat().st_mode
    except OSError:
        return values, []
    exposed = {"key": ("read", mode & _OTHERS_READ), "keyCommand": ("changed", mode & _OTHERS_WRITE)}
    refused = {
        field: f" is ignored, because {path} can be {doing} by other users. Make it yours alone: chmod 600."
        for field, (doing, by_others) in exposed.items()
        if by_others
    }
    entries, problems = _without(providers, refused)
    return {**values, "providers": entries}, problems


def _without(providers: JsonObject, refused: Mapping[str, str]) -> tuple[JsonObject, list[str]]:
    """The entries without the secrets in these fields. For each field, how the sentence goes on."""
    kept: JsonObject = {}
    problems: list[str] = []
    for name, entry in providers.items():
        kept[name] = entry
        if not isinstance(entry, dict):
            continue
        secrets = [field for field in refused if _is_secret(field, entry.get(field))]
        problems += [f"providers.{name}.{field}{refused[field]}" for field in secrets]
        kept[name] = {field: value for field, value in entry.items() if field not in secrets}
    return kept, problems


def _is_secret(field: str, value: JsonValue) -> bool:
    names_variable = field == "key" and isinstance(value, str) and is_variable(value.strip())
    return value is not None and not names_variable
