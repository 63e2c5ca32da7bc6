"""Dotted keys that reach into settings which are objects, such as `providers.local.baseUrl`."""

from __future__ import annotations

import re

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["merged_objects", "nested", "parts_below"]

_PIECE = re.compile(r'"([^"]+)"(?:\.|\Z)|([^".]+)(?:\.|\Z)')
_NAMES_IN_PERMISSIONS = ("tools", "commands", "paths")


def parts_below(name: str) -> tuple[str, ...] | None:
    """The keys that a dotted one leads through, below its first; None when there are none.

    A piece may stand in quotes. Names that hold dots by their nature need none: patterns of permissions,
    headers, models.
    """
    top, dot, rest = name.partition(".")
    pieces = _pieces(rest) if dot else None
    if not pieces:
        return None
    if top == "permissions" and pieces[0] in _NAMES_IN_PERMISSIONS and len(pieces) > 1:
        return (pieces[0], _unquoted(rest.partition(".")[2]))
    if top == "providers" and len(pieces) > 2:
        return (*pieces[:2], *_below_field(pieces[1], pieces[2:]))
    return pieces


def nested(parts: tuple[str, ...], value: JsonValue) -> JsonObject:
    """The value at the end of the keys."""
    inner: JsonValue = value
    for part in reversed(parts[1:]):
        inner = {part: inner}
    return {parts[0]: inner}


def merged_objects(far: JsonObject, near: JsonObject) -> JsonObject:
    """Both, the nearer one's values winning; objects in both are merged in turn."""
    merged = dict(far)
    for name, value in near.items():
        old = merged.get(name)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[name] = merged_objects(old, value) if both else value  # pyright: ignore[reportArgumentType]
    return merged


def _pieces(text: str) -> tuple[str, ...] | None:
    pieces: list[str] = []
    end = 0
    while end < len(text):
        found = _PIECE.match(text, end)
        if found is None:
            return None
        pieces.append(found[1] or found[2])
        end = found.end()
    return tuple(pieces) if not text.endswith(".") else None


def _below_field(field: str, rest: tuple[str, ...]) -> tuple[str, ...]:
    if field == "headers":
        return (".".join(rest),)
    if field == "models" and len(rest) > 1:
        return (".".join(rest[:-1]), rest[-1])
    return rest


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
