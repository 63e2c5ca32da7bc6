"""The keys of the settings: how files, environment and options spell them and their values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.setting_types import expected
from pilothouse_agent.permissions.suggestions import did_you_mean
from pilothouse_agent.settings.dotted_keys import merged_objects, nested, parts_below
from pilothouse_agent.settings.settings import Settings

__all__ = [
    "KEYS",
    "Key",
    "adapter",
    "flattened",
    "from_environment",
    "parse_assignment",
    "read_value",
    "unknown_key",
]

_ENVIRONMENT_PREFIX = "PILOTHOUSE_SET_"
_MODEL_VARIABLE = "PILOTHOUSE_MODEL"
_LONGEST_SHOWN = 40
_LARGEST_SHOWN = 10**9


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    """Dotted."""
    field: str
    """Its name in `Settings`: `run_max_turns` for `run.maxTurns`."""
    textual: bool
    """It holds a text, which is taken as it is; in environment and options all others are JSON."""

    @property
    def variable(self) -> str:
        """Its name in the environment, behind the prefix: `RUN_MAXTURNS`."""
        return self.name.replace(".", "_").upper()


def _dotted(field: str) -> str:
    section, dot, name = field.replace("_", ".", 1).partition(".")
    return section + dot + re.sub("_(.)", lambda found: found[1].upper(), name)


KEYS: Mapping[str, Key] = {
    (name := _dotted(field.name)): Key(name, field.name, name == "model" or isinstance(field.default, str))
    for field in fields(Settings)
}
_OBJECTS = frozenset({"providers", "permissions", "hooks"})
_SECTIONS = frozenset(name.partition(".")[0] for name in KEYS if "." in name)
_MODEL_IN_SECTION = "model.id"
"""A file that has a section `model` cannot have a key `model` as well."""


def read_value(key: Key, value: JsonValue) -> Any:
    """As `Settings` has it. Raises `ValueError` with a sentence."""
    try:
        return adapter(key).validate_python(value)
    except ValidationError as error:
        (fault, *_) = error.errors(include_url=False, include_input=False)
        raise ValueError(f"expected {expected(fault)}, got {_shown(value)}.") from None


@cache
def adapter(key: Key) -> TypeAdapter[Any]:
    """Of its type; to make them all at the start would take a while."""
    return TypeAdapter(_types()[key.field])


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def flattened(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Dotted keys and their values; sections are taken apart, null is left out.

    What is said of a setting that is an object, whole or by dotted keys below it, comes as one.
    """
    objects: dict[str, JsonObject] = {}
    for name, value in _flattened(values):
        top, below = name.partition(".")[0], parts_below(name)
        if top not in _OBJECTS or not (below or isinstance(value, dict)):
            yield name, value
            continue
        said = nested(below, value) if below else value
        assert isinstance(said, dict)
        objects[top] = merged_objects(objects.get(top, {}), said)
    yield from objects.items()


def _flattened(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    for name, value in values.items():
        if value is None:
            continue
        if name in _SECTIONS and isinstance(value, dict):
            for inner, inner_value in _flattened(value):
                yield _without_alias(f"{name}.{inner}"), inner_value
        else:
            yield _without_alias(name), value


def unknown_key(name: str) -> str:
    return f"{name}: there is no such setting.{did_you_mean(name, KEYS)}"


def from_environment(environment: Mapping[str, str]) -> tuple[JsonObject, list[str]]:
    """The values of `PILOTHOUSE_SET_...` and `PILOTHOUSE_MODEL`, and a sentence for each name not known."""
    by_variable = {key.variable: key.name for key in KEYS.values()}
    values: JsonObject = {}
    problems: list[str] = []
    if environment.get(_MODEL_VARIABLE):
        values["model"] = environment[_MODEL_VARIABLE]
    for variable, text in sorted(environment.items()):
        if not variable.upper().startswith(_ENVIRONMENT_PREFIX):
            continue
        spelt = variable[len(_ENVIRONMENT_PREFIX) :].upper()
        name = by_variable.get(spelt)
        above = by_variable.get(spelt.partition("_")[0])
        if name is None and above in _OBJECTS:
            whole = _ENVIRONMENT_PREFIX + spelt.partition("_")[0]
            problems.append(f"{variable}: a variable cannot name what is in {above}; give {whole} as JSON.")
        elif name is None:
            problems.append(f"{variable}: there is no such setting.{did_you_mean(spelt, by_variable)}")
        else:
            values[name] = _from_text(KEYS[name], text)
    return values, problems


def parse_assignment(text: str) -> tuple[str, JsonValue]:
    """`run.maxTurns=5` as key and value. Raises `ValueError` with a sentence.

    `providers.local.baseUrl=…` reaches into an object; what it holds is judged by `complaints`.
    """
    name, equals, value_text = text.partition("=")
    name = name.strip()
    if not equals:
        raise ValueError(f"{text}: expected KEY=VALUE, for example run.maxTurns=5.")
    key = KEYS.get(name)
    if key is None and name.partition(".")[0] in _OBJECTS and parts_below(name):
        return name, _json_or_text(value_text)
    if key is None:
        raise ValueError(unknown_key(name))
    value = _from_text(key, value_text)
    try:
        read_value(key, value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return name, value


def _without_alias(name: str) -> str:
    return "model" if name == _MODEL_IN_SECTION else name


def _from_text(key: Key, text: str) -> JsonValue:
    return text.strip() if key.textual else _json_or_text(text)


def _json_or_text(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _shown(value: JsonValue) -> str:
    """Short, and without what an object may hold: there may be a key in it."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) > _LARGEST_SHOWN:
        return "a huge number"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
