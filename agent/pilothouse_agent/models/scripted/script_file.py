"""The file of the scripted model: what it may hold, and clear words for what it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from pilothouse_agent.models.wire_json import decode, mended

__all__ = ["BadScript", "Script", "ScriptCall", "ScriptError", "ScriptTurn", "ScriptUsage", "read_script"]


class BadScript(Exception):
    """The file cannot be played; the text says what is wrong and where."""


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


Deltas = Annotated[list[str], BeforeValidator(_one_or_many)]
"""A string is one delta."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class ScriptCall(_Strict):
    name: str
    id: str | None = None
    arguments: dict[str, JsonValue] | None = None
    arguments_text: str | None = None
    """Raw, valid JSON or not."""

    @model_validator(mode="after")
    def _one_form(self) -> ScriptCall:
        if self.arguments is not None and self.arguments_text is not None:
            raise ValueError("give either arguments or argumentsText")
        return self


class ScriptUsage(_Strict):
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class ScriptError(_Strict):
    message: str
    status: Annotated[int, Field(ge=300, le=599)] | None = None
    code: str | None = None
    retry_after: Annotated[float, Field(ge=0, strict=False)] | None = None
    """Seconds."""
    after_deltas: Annotated[int, Field(ge=0)] = 0


class ScriptExpect(_Strict):
    contains: list[str] = []
    excludes: list[str] = []


class ScriptTurn(_Strict):
    text: Deltas = []
    thinking: Deltas = []
    deltas: Annotated[int, Field(ge=0)] | None = None
    """How often the text, a single string, is sent."""
    repeat: Annotated[int, Field(ge=0)] = 1
    calls: list[ScriptCall] = []
    delay_ms: Annotated[float, Field(ge=0, strict=False)] = 0
    stop: Literal["stop", "toolUse", "length", "refusal"] | None = None
    usage: ScriptUsage | None = None
    error: ScriptError | None = None
    cut: bool = False
    stall: bool = False
    expect: ScriptExpect = ScriptExpect()

    @model_validator(mode="after")
    def _consistent(self) -> ScriptTurn:
        if self.deltas is not None and len(self.text) != 1:
            raise ValueError("deltas needs a text that is one string")
        if (self.error is not None) + self.cut + self.stall > 1:
            raise ValueError("error, cut and stall exclude each other")
        return self


class Script(_Strict):
    turns: list[ScriptTurn]


def read_script(path: Path) -> Script:
    """Raises `BadScript`. Blocks: reads the file."""
    try:
        content = mended(decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf")))
    except OSError as error:
        raise BadScript(f"it cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise BadScript(f"it is not valid JSON: {error}") from None
    try:
        return Script.model_validate(content)
    except ValidationError as error:
        raise BadScript("; ".join(_violation(item) for item in error.errors(include_url=False)[:5])) from None


def _violation(item: ErrorDetails) -> str:
    where = list(item["loc"])
    turn = ""
    if where[:1] == ["turns"] and len(where) > 1:
        turn = f"turn {cast('int', where[1]) + 1}: "
        where = where[2:]
    if item["type"] == "extra_forbidden":
        inside = f" in {_dotted(where[:-1])}" if len(where) > 1 else ""
        return f'{turn}unknown key "{where[-1]}"{inside}'
    is_object = item["type"] in ("model_type", "dict_type")
    message = "an object is expected" if is_object else item["msg"].removeprefix("Value error, ")
    return f"{turn}{_dotted(where)}: {message}" if where else f"{turn}{message}"


def _dotted(where: list[Any]) -> str:
    return ".".join(str(part) for part in where)
