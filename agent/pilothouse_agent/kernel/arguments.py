"""Call arguments as the model wrote them: text to an object, mending only what is unambiguous."""

from __future__ import annotations

import json
import re
from typing import cast

from pilothouse_agent.kernel.json_types import JsonObject

__all__ = ["complete_arguments", "parse_arguments"]

_FENCE = re.compile(r"\A```[a-zA-Z]*\s*\n(.*)\n\s*```\Z", re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(\s*[}\]])', re.DOTALL)


def parse_arguments(text: str) -> JsonObject | None:
    """The object the text holds, or None when it holds none.

    Nothing and `null` mean no arguments. Mended: raw line ends in strings, trailing commas, a code
    fence around it all, JSON inside a JSON string. A cut text is never completed (R097).
    """
    text = text.strip()
    if text in ("", "null"):
        return {}
    fenced = _FENCE.match(text)
    return _object(fenced.group(1) if fenced else text)


def complete_arguments(text: str) -> JsonObject | None:
    """The object, if a stream that broke had already sent all of it: only what is valid as it stands."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _object(text: str) -> JsonObject | None:
    value = _loads(text)
    if isinstance(value, str):
        value = _loads(value)
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _loads(text: str) -> object:
    for candidate in (text, _STRING_OR_TRAILING_COMMA.sub(r"\1\2", text)):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    return None
