"""`pilothouse schema`: JSON Schema of the wire, and docs/protocol.md, both made from the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any, cast

from pydantic.json_schema import models_json_schema

from pilothouse_agent.kernel.json_lines import inert
from pilothouse_server.protocol.editor import EncodingParams
from pilothouse_server.protocol.event_models import EVENTS, SOURCES
from pilothouse_server.protocol.field_docs import add_field_docs
from pilothouse_server.protocol.methods import METHODS, Method
from pilothouse_server.protocol.models import ClientFeatures, ErrorKindCode, Wire
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.entry import complain, say
from pilothouse_server.wire.json_object import Json

__all__ = ["json_schema", "protocol_page", "write_schema"]


_HEAD = """\
# Protocol

Made by `pilothouse schema --docs` from `server/pilothouse_server/protocol/`; do not edit.

JSON-RPC 2.0 with LSP framing (`Content-Length`) on stdin and stdout. A client sends `initialize`, then
`initialized`, then the requests below. Fields marked `?` may be absent, which means their default;
receivers ignore fields and event types they do not know. Paths are absolute, lines count from 1.

A client declares itself in `capabilities.experimental.pilothouse` or `initializationOptions.pilothouse`
with the object ClientFeatures; its presence alone means that it wants `agent/event`.
"""


def json_schema() -> Json:
    """One document: `methods` and `events` refer to `$defs`."""
    models = [model for method in METHODS for model in (method.params, *method.results)]
    wanted: list[tuple[type[Wire], Any]] = [
        (model, "validation")
        for model in dict.fromkeys([*models, *EVENTS.values(), ClientFeatures, EncodingParams])
    ]
    _, definitions = models_json_schema(wanted, by_alias=True, ref_template="#/$defs/{model}")
    add_field_docs(definitions["$defs"], SOURCES)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pilothouse protocol",
        "methods": {method.name: _method(method) for method in METHODS},
        "notifications": {
            names.EVENT: {"params": {"oneOf": [_ref(event) for event in EVENTS.values()]}},
            names.ENCODING: {"params": _ref(EncodingParams)},
        },
        "$defs": definitions["$defs"],
    }


def protocol_page() -> str:
    """docs/protocol.md."""
    definitions = cast("Json", json_schema()["$defs"])
    parts = [_HEAD]
    for receiver, title in (("server", "Requests to the server"), ("client", "Requests to the client")):
        parts.append(f"## {title}\n")
        parts += [_method_section(method, definitions) for method in METHODS if method.to == receiver]
    parts.append(f"## Events\n\nNotification `{names.EVENT}`. Every event has:\n")
    parts.append(_table(definitions["AgentStartEvent"], only=_common()))
    for label, event in EVENTS.items():
        parts.append(f"### {label}\n\n{cleandoc(event.__doc__ or '')}\n")
        parts.append(_table(definitions[event.__name__], without=_common() | {"type"}))
    parts.append("## Objects\n")
    shown = {model.__name__ for method in METHODS for model in (method.params, *method.results)}
    shown |= {event.__name__ for event in EVENTS.values()}
    for name in sorted(set(definitions) - shown):
        parts.append(f"### {name}\n")
        if about := _about(definitions[name]):
            parts.append(about + "\n")
        parts.append(_table(definitions[name]))
    return "\n".join(parts).rstrip() + "\n"


def write_schema(arguments: list[str]) -> int:
    """The command; the exit code. Without options the schema goes to stdout."""
    match arguments:
        case []:
            say(_dumped())
        case ["--docs"]:
            say(protocol_page())
        case ["--out", folder]:
            target = Path(folder)
            target.mkdir(parents=True, exist_ok=True)
            (target / "pilothouse.schema.json").write_text(_dumped(), encoding="utf-8")
            (target / "protocol.md").write_text(protocol_page(), encoding="utf-8")
        case _:
            complain("usage: pilothouse schema [--out DIR | --docs | --settings [--docs]]")
            return 2
    return 0


def _dumped() -> str:
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    return inert(text.encode("utf-8")).decode("utf-8") + "\n"


def _method(method: Method) -> Json:
    return {
        "description": method.about,
        "to": method.to,
        "params": _ref(method.params),
        "result": {"anyOf": [_ref(result) for result in method.results]},
        "errors": [{"code": error.code, "kind": error.kind} for error in method.errors],
    }


def _ref(model: type[Wire]) -> Json:
    return {"$ref": f"#/$defs/{model.__name__}"}


def _method_section(method: Method, definitions: Json) -> str:
    lines = [f"### {method.name}\n", method.about, ""]
    for label, models in (("Params", (method.params,)), ("Result", method.results)):
        for model in models:
            lines += [f"{label}: `{model.__name__}`", "", _table(definitions[model.__name__])]
    if method.errors:
        listed = ", ".join(_error(error) for error in method.errors)
        lines += [f"Errors: {listed}.", ""]
    return "\n".join(lines)


def _error(error: ErrorKindCode) -> str:
    return f"{error.code} `{error.kind}`"


def _common() -> set[str]:
    return {"sessionId", "runId", "epoch", "seq", "time"}


def _table(definition: Json, *, only: set[str] | None = None, without: set[str] | None = None) -> str:
    fields = cast("Json", definition.get("properties", {}))
    required = set(definition.get("required", ()))
    rows = [
        f"| `{name}`{'' if name in required else '?'} | {_type(field)} | {_about(field)} |"
        for name, field in fields.items()
        if (only is None or name in only) and name not in (without or set())
    ]
    if not rows:
        return "No fields.\n"
    return "\n".join(["| field | type | |", "| --- | --- | --- |", *rows, ""])


def _about(definition: Json) -> str:
    return " ".join(str(definition.get("description", "")).split())


def _type(field: Json) -> str:
    return " \\| ".join(dict.fromkeys(_types(field))) or "any"


def _types(field: Json) -> Iterator[str]:
    if "$ref" in field:
        yield f"`{str(field['$ref']).rpartition('/')[2]}`"
    elif "const" in field:
        yield f'"{field["const"]}"'
    elif "enum" in field:
        yield from (f'"{value}"' for value in field["enum"])
    elif "anyOf" in field or "oneOf" in field:
        for choice in field.get("anyOf") or field["oneOf"]:
            yield from _types(choice)
    elif field.get("type") == "array":
        yield f"list of {_type(cast('Json', field.get('items', {})))}"
    elif "type" in field:
        yield str(field["type"])
