"""What JSON can hold, as types."""

from __future__ import annotations

from typing import TypeAlias, cast

__all__ = ["JsonObject", "JsonValue", "copy_object", "is_json"]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"


def copy_object(value: JsonObject) -> JsonObject:
    """A copy that shares nothing that can be changed."""
    return {key: _copied(item) for key, item in value.items()}


def is_json(value: object) -> bool:
    """Whether it can be written as JSON as it stands."""
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return all(isinstance(key, str) and is_json(item) for key, item in items)
    if isinstance(value, list):
        return all(map(is_json, cast("list[object]", value)))
    return value is None or isinstance(value, str | int | float | bool)


def _copied(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return copy_object(value)
    return [_copied(item) for item in value] if isinstance(value, list) else value
