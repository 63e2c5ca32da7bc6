"""What JSON can hold, as types."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["JsonObject", "JsonValue", "copy_object"]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"


def copy_object(value: JsonObject) -> JsonObject:
    """A copy that shares nothing that can be changed."""
    return {key: _copied(item) for key, item in value.items()}


def _copied(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return copy_object(value)
    return [_copied(item) for item in value] if isinstance(value, list) else value
