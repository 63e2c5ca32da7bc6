"""What a person wrote as an object of settings: what does not fit is told, and counts as absent."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.setting_types import expected

__all__ = ["Entry", "not_taken", "read_entry"]


class Entry(BaseModel):
    """Base of such objects. Null counts as absent."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        validate_by_alias=True,
        validate_by_name=True,
        defer_build=True,
    )


E = TypeVar("E", bound=Entry)


def read_entry(model: type[E], values: JsonObject, path: str) -> tuple[E, list[str]]:
    """What of the values fits, and a sentence for each that does not. No sentence shows a value.

    `path` begins the sentences.
    """
    kept = _without_nulls(values)
    problems: list[str] = []
    try:
        return model.model_validate(kept, by_alias=True, by_name=False), problems
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            problems.append(_sentence(path, fault))
            _leave_out(kept, fault["loc"])
    return model.model_validate(kept, by_alias=True, by_name=False), problems


def not_taken(path: str, wanted: str) -> str:
    return f"{path}: expected {wanted}. It is ignored."


def _sentence(path: str, fault: ErrorDetails) -> str:
    where = ".".join([path, *map(str, fault["loc"])])
    if fault["type"] == "extra_forbidden":
        return f"{where}: there is no such setting."
    return not_taken(where, expected(fault))


def _without_nulls(values: JsonObject) -> dict[str, Any]:
    return {name: _copied(value) for name, value in values.items() if value is not None}


def _copied(value: JsonValue) -> Any:
    return _without_nulls(value) if isinstance(value, dict) else value


def _leave_out(values: dict[str, Any], where: tuple[int | str, ...]) -> None:
    for name in where[:-1]:
        values = values[cast("str", name)]
    del values[cast("str", where[-1])]
