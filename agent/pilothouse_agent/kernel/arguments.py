"""Call arguments as the model wrote them: text to an object, mending only what is unambiguous."""

from __future__ import annotations

import json
import re
from typing import cast

from pilothouse_agent.kernel.json_types import JsonObject

__all__ = ["complete_arguments", "parse_arguments"]

# A string that never ends counts as one too: a cut text with many escaped quotes would otherwise be
# searched from each of them to its end.
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(\s*+[}\]])', re.DOTALL)


def parse_arguments(text: str) -> JsonObject | None:
    """The object the text holds, or None when it holds none. Lone surrogates become U+FFFD.

    Nothing and `null` mean no arguments. Mended: raw line ends in strings, trailing commas, a code
    fence around it all, JSON inside a JSON string. A cut text is never completed (R097).
    """
    text = text.strip()
    if text in ("", "null"):
        return {}
    return _object(_unfenced(text))


def complete_arguments(text: str) -> JsonObject | None:
    """The object, if a stream that broke had already sent all of it: only what is valid as it stands."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", _whole_characters(cast("object", value))) if isinstance(value, dict) else None


def _unfenced(text: str) -> str:
    opening, _, rest = text.partition("\n")
    inside, _, closing = rest.rpartition("\n")
    language = opening.removeprefix("```").strip()
    if not opening.startswith("```") or closing.strip() != "```":
        return text
    return inside if not language or language.isalpha() else text


def _object(text: str) -> JsonObject | None:
    value = _loads(text)
    if isinstance(value, str):
        value = _loads(value)
    return cast("JsonObject", _whole_characters(cast("object", value))) if isinstance(value, dict) else None


def _whole_characters(value: object) -> object:
    """Escaped halves of surrogate pairs joined, those without their other half replaced."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, list):
        return [_whole_characters(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {str(_whole_characters(key)): _whole_characters(item) for key, item in items}
    return value


def _loads(text: str) -> object:
    value = _decoded(text)
    return _decoded(_STRING_OR_TRAILING_COMMA.sub(r"\1\2", text)) if value is None else value


def _decoded(text: str) -> object:
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON.")
