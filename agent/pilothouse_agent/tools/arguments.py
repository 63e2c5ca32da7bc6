"""Arguments of tools as typed models: schema for the model, validation with every violation."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.tooling import InvalidArguments, Violation

__all__ = ["Arguments", "schema_of", "validate"]


class Arguments(BaseModel):
    """Base of every tool's arguments: harmless shapes are coerced, unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _unpack(cls, value: Any) -> Any:
        """Decode JSON text given where an object or a list is expected."""
        value = _decoded(value, frozenset({"object"}))
        if not isinstance(value, dict):
            return value
        items = cast("dict[str, Any]", value)
        types = _property_types(cls)
        return {name: _decoded(item, types.get(name, frozenset())) for name, item in items.items()}


A = TypeVar("A", bound=Arguments)


def validate(model: type[A], arguments: JsonObject) -> A:
    """Raises `InvalidArguments` listing every violation with its path."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        raise InvalidArguments(
            tuple(
                Violation(
                    ".".join(str(part) for part in item["loc"]), item["msg"].removeprefix("Value error, ")
                )
                for item in error.errors(include_url=False, include_input=False, include_context=False)
            )
        ) from None


@cache
def schema_of(model: type[Arguments]) -> JsonObject:
    """The JSON Schema without titles and references, as small as providers like it."""
    schema = model.model_json_schema()
    return cast("JsonObject", _plain(schema, schema.get("$defs", {})))


def _plain(node: JsonValue, definitions: dict[str, Any]) -> JsonValue:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        return _plain(definitions[reference.rpartition("/")[2]], definitions)
    return {
        key: _named(value, definitions) if key == "properties" else _plain(value, definitions)
        for key, value in node.items()
        if key not in ("title", "$defs")
    }


def _named(properties: JsonValue, definitions: dict[str, Any]) -> JsonValue:
    assert isinstance(properties, dict)
    return {name: _plain(value, definitions) for name, value in properties.items()}


@cache
def _property_types(model: type[Arguments]) -> dict[str, frozenset[str]]:
    """The JSON types each argument may have."""
    properties = model.model_json_schema().get("properties", {})
    return {name: frozenset(_types(schema)) for name, schema in properties.items()}


def _types(schema: dict[str, Any]) -> set[str]:
    choices = [schema, *schema.get("anyOf", [])]
    return {choice["type"] for choice in choices if "type" in choice} | {
        "object" for choice in choices if "$ref" in choice
    }


def _decoded(value: Any, types: frozenset[str]) -> Any:
    if not isinstance(value, str) or "string" in types or not types & {"object", "array"}:
        return value
    try:
        decoded = json.loads(value)
    except ValueError:
        return value
    return cast("Any", decoded) if isinstance(decoded, dict | list) else value
