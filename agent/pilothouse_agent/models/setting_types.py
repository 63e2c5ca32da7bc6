"""Kinds of values in settings, as types: how they are read, and in words what was expected instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, cast

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    TypeAdapter,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

__all__ = [
    "Count",
    "Expected",
    "Flag",
    "Money",
    "Natural",
    "ObjectOf",
    "Seconds",
    "Text",
    "Texts",
    "expected",
]

_LARGEST = 10**9
_QUOTED = re.compile("'([^']*)'")
_WORDS = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
}


@dataclass(frozen=True, slots=True)
class Expected:
    """What a type's values are, in words for people. Said of every value that is none, instead of the
    reason, which may show it: there may be a key in it."""

    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(
            handler(source), custom_error_type="expected", custom_error_message=self.words
        )


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object that is taken as it is, for others to read. What they will want of it is its `shape`."""

    shape: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_object)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(TypeAdapter(self.shape).core_schema)


def expected(fault: ErrorDetails) -> str:
    """What should stand in place of a value that is wrong."""
    if fault["type"] in ("literal_error", "enum"):
        words = _QUOTED.findall(fault.get("ctx", {})["expected"])
        return f"one of {', '.join(words)}"
    return _WORDS.get(fault["type"], fault["msg"])


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise PydanticCustomError("expected", "an object")
    return cast("Any", value)


def _number(value: Any) -> Any:
    # Editors that know only one kind of number send 5.0 for 5, which is as good; "5" and true are not.
    if isinstance(value, bool | str | bytes):
        raise ValueError
    return value


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Count = Annotated[
    int, Field(ge=1, le=_LARGEST), BeforeValidator(_number), Expected("a whole number, 1 or more")
]
Natural = Annotated[
    int, Field(ge=0, le=_LARGEST), BeforeValidator(_number), Expected("a whole number, 0 or more")
]
Seconds = Annotated[
    float,
    Field(gt=0, le=_LARGEST),
    BeforeValidator(_number),
    Expected("a time in seconds, more than 0"),
]
Money = Annotated[Decimal, Field(ge=0, le=_LARGEST), Expected("an amount of US dollars, 0 or more")]
Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), Expected("a text")]
Texts = Annotated[
    tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...],
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=str | list[str]),
    Expected("a text or a list of texts"),
]
