"""JSON Schemas of tool arguments, cut down to what providers take."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import cast

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["object_schema", "reduced_schema"]

_UNIONS = ("allOf", "anyOf", "oneOf")
_NOT_AT_THE_TOP = (*_UNIONS, "not", "enum", "const", "$ref")
_DEEPEST = 40
_MOST_PARTS = 200
_MOST_PLACES = 2_000
"""Types that refer to each other would else be written out without end."""
_KEPT = (
    "description",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
)


def object_schema(schema: JsonObject | None) -> JsonObject:
    """A schema that is plainly an object's: no provider takes a union or a reference at the top."""
    schema = schema or {}
    whole: JsonObject = {"type": "object", "properties": {}}
    for part in islice(_parts(schema, schema, ()), _MOST_PARTS):
        _add(whole, part)
    whole["type"] = "object"
    return whole


def reduced_schema(schema: JsonObject | None) -> JsonObject:
    """No references, no lists of types, only the keywords that Gemini knows, a type at each place.

    A schema that holds itself ends in a plain object where it comes again.
    """
    root = object_schema(schema)
    return _Reduction(root).of(root, ())


def _parts(schema: JsonObject, root: JsonObject, followed: tuple[str, ...]) -> Iterable[JsonObject]:
    """The schema and what it refers to or unites, the nearest first."""
    yield {name: value for name, value in schema.items() if name not in _NOT_AT_THE_TOP}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in followed:
        target = _target(root, reference)
        if target is not None:
            yield from _parts(target, root, (*followed, reference))
    for union in _UNIONS:
        for branch in _objects(schema.get(union)):
            for part in _parts(branch, root, followed) if len(followed) < _DEEPEST else ():
                yield part if union == "allOf" else _without_required(part)


def _add(whole: JsonObject, part: JsonObject) -> None:
    """What `whole` says already stays."""
    for name, value in part.items():
        before = whole.get(name)
        if name == "properties":
            whole[name] = {**_object(value), **_object(before)}
        elif name == "required" and isinstance(value, list) and isinstance(before, list):
            whole[name] = [*before, *(item for item in value if item not in before)]
        elif name not in whole:
            whole[name] = value


def _without_required(part: JsonObject) -> JsonObject:
    """What one of several branches requires is not required of all."""
    return {name: value for name, value in part.items() if name != "required"}


class _Reduction:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._places = 0

    def of(self, schema: JsonValue, inside: tuple[str, ...]) -> JsonObject:
        """`inside`: the references that lead here, and a dash for each level."""
        self._places += 1
        if len(inside) > _DEEPEST or self._places > _MOST_PLACES:
            return {"type": "object"}
        if not isinstance(schema, dict):
            return {"type": "string"}
        united = _merged(schema)
        reference = united.get("$ref")
        if isinstance(reference, str):
            target = None if reference in inside else _target(self._root, reference)
            beside = {name: value for name, value in united.items() if name != "$ref"}
            return (
                {"type": "object"} if target is None else self.of({**target, **beside}, (*inside, reference))
            )
        branches = [branch for union in ("anyOf", "oneOf") for branch in _objects(united.get(union))]
        if branches:
            return self._any_of(united, branches, inside)
        return self._one(united, inside)

    def _any_of(self, schema: JsonObject, branches: list[JsonObject], inside: tuple[str, ...]) -> JsonObject:
        chosen = [self.of(branch, (*inside, "-")) for branch in branches if branch.get("type") != "null"]
        nullable: JsonObject = {"nullable": True} if len(chosen) < len(branches) else {}
        described: JsonObject = {key: schema[key] for key in ("description",) if key in schema}
        if len(chosen) > 1:
            return {"anyOf": cast("list[JsonValue]", chosen), **described, **nullable}
        return {**(chosen[0] if chosen else {"type": "string"}), **described, **nullable}

    def _one(self, schema: JsonObject, inside: tuple[str, ...]) -> JsonObject:
        types = schema.get("type")
        if isinstance(types, list):
            branches: list[JsonObject] = [{**schema, "type": kind} for kind in types]
            return self._any_of({}, branches, inside) if branches else {"type": "string"}
        if types == "null":
            return {"type": "string", "nullable": True}
        kind = types if isinstance(types, str) else _guessed_type(schema)
        one: JsonObject = {"type": kind, **{key: schema[key] for key in _KEPT if key in schema}}
        _put_values(one, schema)
        if kind == "object":
            properties = {
                name: self.of(value, (*inside, "-"))
                for name, value in _object(schema.get("properties")).items()
            }
            one["properties"] = cast("JsonObject", properties)
            required = schema.get("required")
            if isinstance(required, list):
                one["required"] = [name for name in required if isinstance(name, str) and name in properties]
        elif kind == "array":
            one["items"] = self.of(schema.get("items"), (*inside, "-"))
        return one


def _merged(schema: JsonObject) -> JsonObject:
    """What `allOf` says, put into the schema itself."""
    branches = _objects(schema.get("allOf"))
    if not branches:
        return schema
    whole: JsonObject = {}
    for part in ({name: value for name, value in schema.items() if name != "allOf"}, *branches):
        _add(whole, part)
    return whole


def _put_values(one: JsonObject, schema: JsonObject) -> None:
    """Only texts can be enumerated; other values are told in the description."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or not values:
        return
    if one["type"] == "string" and all(isinstance(value, str) for value in values):
        one["enum"] = values
        return
    said = f"One of {', '.join(str(value) for value in values)}."
    before = one.get("description")
    one["description"] = f"{before} {said}" if isinstance(before, str) and before else said


def _guessed_type(schema: JsonObject) -> str:
    if "properties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(value, bool) for value in values):
        return "boolean"
    if isinstance(values, list) and values and all(isinstance(value, int | float) for value in values):
        return "number"
    return "string"


def _target(root: JsonObject, reference: str) -> JsonObject | None:
    """What `#/a/b` points at."""
    value: JsonValue = root
    for step in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _objects(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
