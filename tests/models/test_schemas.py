"""Schemas of arguments, cut down to what providers take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.models.history.schemas import object_schema, reduced_schema

Schema = dict[str, Any]
TEXT = {"type": "string"}


def _object(**fields: Any) -> Schema:
    return {"type": "object", "properties": {}, **fields}


WHOLE: dict[str, tuple[Schema | None, Schema]] = {
    "W136 none": (None, _object()),
    "W136 empty": ({}, _object()),
    "as it should be": (
        _object(properties={"a": TEXT}, required=["a"], additionalProperties=False),
        _object(properties={"a": TEXT}, required=["a"], additionalProperties=False),
    ),
    "of another type": ({"type": ["object", "null"], "description": "x"}, _object(description="x")),
    "a reference": (
        {"$ref": "#/$defs/A", "$defs": {"A": _object(properties={"a": TEXT}, required=["a"])}},
        _object(
            properties={"a": TEXT},
            required=["a"],
            **{"$defs": {"A": _object(properties={"a": TEXT}, required=["a"])}},
        ),
    ),
    "a reference to itself": ({"$ref": "#"}, _object()),
    "a reference to nothing": ({"$ref": "#/$defs/A"}, _object()),
    "all of several": (
        {
            "allOf": [
                _object(properties={"a": TEXT}, required=["a"]),
                _object(properties={"b": TEXT}, required=["b"]),
            ]
        },
        _object(properties={"b": TEXT, "a": TEXT}, required=["a", "b"]),
    ),
    "one of several": (
        {"oneOf": [_object(properties={"a": TEXT}, required=["a"]), _object(properties={"b": TEXT})]},
        _object(properties={"b": TEXT, "a": TEXT}),
    ),
    "values at the top": ({"enum": [1], "not": {}, "const": 2}, _object()),
}


@pytest.mark.covers("W135")
@pytest.mark.parametrize("name", WHOLE)
def test_the_schema_of_arguments_is_plainly_an_objects(name: str) -> None:
    schema, whole = WHOLE[name]
    assert object_schema(schema) == whole


REDUCED: dict[str, tuple[Schema | bool, Schema]] = {
    "text": ({"type": "string", "format": "uri", "minLength": 1}, {"type": "string", "minLength": 1}),
    "no type": ({}, TEXT),
    "anything": (True, TEXT),
    "a list of types": ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
    "a list of several types": (
        {"type": ["string", "integer"]},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    ),
    "only null": ({"type": "null"}, {"type": "string", "nullable": True}),
    "one of several": (
        {"anyOf": [{"const": "x"}, {"const": "y"}], "description": "d"},
        {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "string", "enum": ["y"]}], "description": "d"},
    ),
    "one or null": (
        {"oneOf": [{"type": "integer"}, {"type": "null"}]},
        {"type": "integer", "nullable": True},
    ),
    "numbers to choose from": (
        {"type": "integer", "enum": [1, 2], "description": "How many."},
        {"type": "integer", "description": "How many. One of 1, 2."},
    ),
    "truths to choose from": ({"enum": [True]}, {"type": "boolean", "description": "One of True."}),
    "a number by its values": ({"const": 3}, {"type": "number", "description": "One of 3."}),
    "a list of anything": ({"type": "array", "uniqueItems": True}, {"type": "array", "items": TEXT}),
    "a list by its items": ({"items": {"type": "integer"}}, {"type": "array", "items": {"type": "integer"}}),
    "an object": (
        {"properties": {"z": TEXT}, "required": ["z", "y"], "additionalProperties": False},
        {"type": "object", "properties": {"z": TEXT}, "required": ["z"]},
    ),
    "a reference": ({"$ref": "#/$defs/A", "description": "d"}, {"type": "integer", "description": "d"}),
    "a reference to nothing": ({"$ref": "#/$defs/X"}, {"type": "object"}),
    "all of a reference": (
        {"allOf": [{"$ref": "#/$defs/A"}], "minimum": 2},
        {"type": "integer", "minimum": 2},
    ),
}


@pytest.mark.covers("W135")
@pytest.mark.parametrize("name", REDUCED)
def test_a_schema_is_reduced_to_the_words_that_gemini_knows(name: str) -> None:
    schema, reduced = REDUCED[name]
    root: Any = {"type": "object", "properties": {"p": schema}, "$defs": {"A": {"type": "integer"}}}
    assert reduced_schema(root) == {"type": "object", "properties": {"p": reduced}}


@pytest.mark.covers("W135")
def test_a_schema_that_holds_itself_ends_where_it_comes_again() -> None:
    node: Any = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}
    kids = {"type": "array", "items": {"type": "object"}}
    inner = {"type": "object", "properties": {"kids": kids}}
    assert reduced_schema({"$ref": "#/$defs/N", "$defs": {"N": node}}) == {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": inner}},
    }


def test_types_that_all_refer_to_each_other_are_not_written_out_without_end() -> None:
    names = [f"T{number}" for number in range(30)]
    fields: Schema = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    types: Schema = {name: {"type": "object", "properties": fields} for name in names}
    unions: Schema = {name: {"anyOf": [*fields.values()]} for name in names}
    assert len(json.dumps(reduced_schema({"properties": fields, "$defs": types}))) < 500_000
    assert object_schema({"$ref": "#/$defs/T0", "$defs": unions})["type"] == "object"


WORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "enum",
        "const",
        "required",
        "a",
    ]
)
VALUES = st.sampled_from([None, True, 1, "object", "array", "null", "#", "#/$defs/a", "#/properties/a"])
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.dictionaries(WORDS, SCHEMAS, max_size=4))
def test_whatever_a_schema_holds_an_objects_schema_comes_out(schema: Any) -> None:
    for reduce in (object_schema, reduced_schema):
        made = reduce(schema)
        assert made["type"] == "object"
        assert isinstance(made["properties"], dict)
