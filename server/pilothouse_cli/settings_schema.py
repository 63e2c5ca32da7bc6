"""`pilothouse schema --settings`: JSON Schema of the settings, and docs/settings.md, both made from their
types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter

from pilothouse_agent.kernel.json_lines import inert
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.choosing.provider_entry import ModelEntry, ProviderEntry
from pilothouse_agent.models.setting_types import Expected
from pilothouse_agent.permissions.layers import PermissionEntries
from pilothouse_agent.settings.keys import KEYS, adapter
from pilothouse_agent.settings.settings import Settings
from pilothouse_server.protocol.field_docs import docs_in
from pilothouse_server.wire.entry import complain, say
from pilothouse_server.wire.json_object import Json

__all__ = ["settings_page", "settings_schema", "write_settings_schema"]


_HEAD = """\
# Settings

Made by `pilothouse schema --settings --docs` from the types that read them; do not edit.

Settings stand in your own `config.toml` (`pilothouse doctor` says where), in variables of the environment,
in the editor's configuration (section `pilothouse`) and behind `--set` of `pilothouse run`; of these the last
that says something counts. `run.maxTurns` is that key in all of them, or `maxTurns` in a section `run`; in
the environment it is `PILOTHOUSE_SET_RUN_MAXTURNS`, with JSON for everything that is not a text. The model
may also stand in `PILOTHOUSE_MODEL`, and in a section `model` as `id`. A value that cannot be used is told as
a sentence and leaves the farther one in place.

Times are in seconds. [models.md](models.md) says more of providers, keys and trusted folders.
"""
_PARTS = (
    ("An entry of `providers`, by the provider's name", ProviderEntry),
    ("An entry of `providers.NAME.models`, by the model's name", ModelEntry),
    ("`providers.NAME.dialect`", ChatDialect),
    ("`permissions`", PermissionEntries),
)


def write_settings_schema(arguments: list[str]) -> int:
    """The command; the exit code."""
    match arguments:
        case []:
            text = json.dumps(settings_schema(), indent=2, ensure_ascii=False)
            say(inert(text.encode("utf-8")).decode("utf-8") + "\n")
        case ["--docs"]:
            say(settings_page())
        case _:
            complain("usage: pilothouse schema --settings [--docs]")
            return 2
    return 0


def settings_schema() -> Json:
    """Of config.toml, where dotted keys are sections."""
    schemas, shared = TypeAdapter.json_schemas(
        [(key.name, "validation", adapter(key)) for key in KEYS.values()]
    )
    docs = docs_in(Settings)
    properties: Json = {}
    sections: dict[str, Json] = {}
    for key in KEYS.values():
        schema = schemas[key.name, "validation"] | {"description": docs.get(key.field, "")}
        section, _, name = key.name.partition(".")
        if name:
            sections.setdefault(section, {})[name] = schema
        else:
            properties[section] = schema
    sections["model"]["id"] = properties["model"]
    properties |= {name: _object(inner) for name, inner in sections.items() if name != "model"}
    properties["model"] = {"anyOf": [properties["model"], _object(sections["model"])]}
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Pilothouse settings"}
    return {**title, **_object(properties), "$defs": shared["$defs"]}


def settings_page() -> str:
    """docs/settings.md."""
    types, docs = get_type_hints(Settings, include_extras=True), docs_in(Settings)
    defaults = {field.name: field.default for field in fields(Settings)}
    rows = [
        (key.name, _holds(types[key.field]), defaults[key.field], docs.get(key.field, ""))
        for key in KEYS.values()
    ]
    parts = [_HEAD, _table(rows)]
    for title, model in _PARTS:
        parts += [f"## {title}\n", f"{' '.join((model.__doc__ or '').split())}\n", _table(_rows(model))]
    return "\n".join(parts).rstrip() + "\n"


def _object(properties: Json) -> Json:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _rows(model: type[BaseModel | PermissionEntries]) -> Iterator[tuple[str, str, Any, str]]:
    types, docs = get_type_hints(model, include_extras=True), docs_in(model)
    if issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            yield field.alias or name, _holds(types[name]), field.default, docs.get(name, "")
    else:
        for field in fields(model):
            yield field.name, _holds(types[field.name]), field.default, docs.get(field.name, "")


def _table(rows: Iterable[tuple[str, str, Any, str]]) -> str:
    lines = [
        f"| `{name}` | {holds} | {_shown(default)} | {' '.join(about.split())} |"
        for name, holds, default, about in rows
    ]
    return "\n".join(["| key | holds | default | |", "| --- | --- | --- | --- |", *lines, ""])


def _holds(kind: Any) -> str:
    """What a value of this type is, in the words of whoever complains of another one."""
    if words := [mark.words for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, Expected)]:
        return words[0]
    if get_origin(kind) in (Annotated, Union, UnionType):
        return _holds(get_args(kind)[0])
    if get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        return f"one of {', '.join(map(str, get_args(kind) or kind))}"
    return "true or false" if kind is bool else "an object"


def _shown(default: Any) -> str:
    said = default is not MISSING and isinstance(default, str | int | float)
    return f"`{json.dumps(default)}`" if said else ""
