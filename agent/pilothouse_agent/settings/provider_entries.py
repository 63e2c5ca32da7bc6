"""What layers may say of providers: keys and commands that print keys stand in the user's own file only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.choosing.provider_entry import is_variable
from pilothouse_agent.permissions.layers import Layer
from pilothouse_agent.settings.dotted_keys import merged_objects

__all__ = ["with_entries", "without_exposed_keys", "without_keys"]

_OTHERS_READ = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def with_entries(far: JsonObject, near: JsonObject) -> JsonObject:
    """The entries of two layers. One that names an address takes nothing over from the farther layer:
    the key there was not meant for it."""
    replaced: JsonObject = {
        name: {} for name, entry in near.items() if isinstance(entry, dict) and "baseUrl" in entry
    }
    return merged_objects({**far, **replaced}, near)


def without_keys(providers: JsonObject, layer: Layer) -> tuple[JsonObject, list[str]]:
    """The entries without what only the user's own file may hold, and a sentence for each such thing."""
    if layer is Layer.USER:
        return providers, []
    problems: list[str] = []
    entries = {name: _without(entry, name, problems) for name, entry in providers.items()}
    return entries, problems


def without_exposed_keys(path: Path, values: JsonObject) -> tuple[JsonObject, list[str]]:
    """What the user's file holds without the keys that other users of the machine may know. Blocks."""
    providers = values.get("providers")
    if not isinstance(providers, dict) or os.name == "nt":
        return values, []
    try:
        mode = path.stat().st_mode
    except OSError:
        return values, []
    refused = {
        **({"key": "read"} if mode & _OTHERS_READ else {}),
        **({"keyCommand": "changed"} if mode & _OTHERS_WRITE else {}),
    }
    problems: list[str] = []
    entries = {name: _unexposed(entry, name, refused, path, problems) for name, entry in providers.items()}
    return {**values, "providers": entries}, problems


def _without(entry: JsonValue, name: str, problems: list[str]) -> JsonValue:
    if not isinstance(entry, dict):
        return entry
    kept = dict(entry)
    if _holds_key(entry):
        del kept["key"]
        said = "a key may stand in your own config.toml only; name a variable that holds it. It is ignored."
        problems.append(f"providers.{name}.key: {said}")
    if kept.pop("keyCommand", None) is not None:
        said = "it may stand in your own config.toml only. It is ignored."
        problems.append(f"providers.{name}.keyCommand: {said}")
    return kept


def _unexposed(
    entry: JsonValue, name: str, refused: dict[str, str], path: Path, problems: list[str]
) -> JsonValue:
    if not isinstance(entry, dict):
        return entry
    kept = dict(entry)
    for field, doing in refused.items():
        if field in kept and (field != "key" or _holds_key(kept)):
            del kept[field]
            text = f"providers.{name}.{field} is ignored, because {path} can be {doing} by other users."
            problems.append(f"{text} Make it yours alone: chmod 600.")
    return kept


def _holds_key(entry: JsonObject) -> bool:
    key = entry.get("key")
    return key is not None and not (isinstance(key, str) and is_variable(key.strip()))
