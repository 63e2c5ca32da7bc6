"""Names, ids and arguments that wire formats take, made of such as they may not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.models.wire_json import decode, mended

__all__ = ["digest", "legal_arguments", "legal_name", "own_name", "own_names"]

# Gemini wants a letter or an underscore first; the rest is what OpenAI takes.
_LEGAL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}\Z")
_FOR_ALL = re.compile(r"\A(?:functions|default_api)[.:]")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def own_names(tools: tuple[ToolSpec, ...]) -> Mapping[str, str]:
    """From the names on the wire to the tools' own; only those that differ."""
    wire = {legal_name(tool.name): tool.name for tool in tools}
    return {legal: own for legal, own in wire.items() if legal != own}


def legal_name(name: str) -> str:
    """The same for the same name always, and different for different ones."""
    if _LEGAL_NAME.match(name):
        return name
    return f"_{_ILLEGAL.sub('_', name)[:54]}_{digest(name)[:8]}"


def own_name(name: str, names: Mapping[str, str]) -> str:
    """The tool that the model meant; some put a word for all functions in front, or a token behind."""
    name = _FOR_ALL.sub("", name.partition("<|")[0].strip())
    return names.get(name, name)


def legal_arguments(call: ToolCall) -> JsonObject:
    """Servers parse the history: what is not the JSON of an object would fail for ever."""
    arguments: JsonValue = call.arguments
    try:
        if arguments is None:
            arguments = decode((call.arguments_text or "").encode("utf-8", "replace"))
        value = mended(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
