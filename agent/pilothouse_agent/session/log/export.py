"""A session as a document that can be read without us (J12)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    ImageBlock,
    Message,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pilothouse_agent.session.log.message_json import message_of
from pilothouse_agent.session.log.records import Header, Record

__all__ = ["as_json", "as_markdown"]

_LINES = 200
"""Of a result that is shown."""


def as_json(header: Header, path: Sequence[Record]) -> str:
    """The header and the records of the conversation as one document."""
    value: JsonObject = {
        "session": header.to_json(),
        "entries": [record.to_json() for record in path],
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def as_markdown(header: Header, path: Sequence[Record]) -> str:
    """Prompts and answers as they were, each tool call as a line with what came of it folded below."""
    messages = [message for record in path if (message := _message(record)) is not None]
    results = {m.tool_call_id: m for m in messages if isinstance(m, ToolResultMessage)}
    title = next((str(record.data.get("title")) for record in reversed(path) if record.type == "title"), "")
    parts = [f"# {title or 'Session'}", f"`{header.cwd}` · {header.created} · `{header.session_id}`"]
    for message in messages:
        parts += _section(message, results)
    return "\n\n".join(parts) + "\n"


def _message(record: Record) -> Message | None:
    return message_of(record.data.get("message")) if record.type == "message" else None


def _section(message: Message, results: dict[str, ToolResultMessage]) -> list[str]:
    match message:
        case UserMessage():
            return ["## You", *_texts(message.content)]
        case AssistantMessage():
            parts = ["## Pilothouse"]
            for block in message.content:
                if isinstance(block, TextBlock) and block.text.strip():
                    parts.append(block.text)
                elif isinstance(block, ToolCall):
                    parts.append(_call(block, results.get(block.id)))
            if message.error is not None:
                parts.append(f"> {message.error.message}")
            return parts if len(parts) > 1 else []
        case CustomMessage() if message.for_model:
            return [f"> **{message.name}**: {' '.join(_texts(message.content))}".replace("\n", "\n> ")]
        case _:
            return []


def _call(call: ToolCall, result: ToolResultMessage | None) -> str:
    arguments = call.arguments_text if call.arguments is None else _said(call.arguments)
    sign = "…" if result is None else "✗" if result.is_error else "✓"
    lines = "\n".join(_texts(result.content)).splitlines() if result is not None else []
    shown = lines[:_LINES] + ([f"… {len(lines) - _LINES} more lines"] if len(lines) > _LINES else [])
    body = "\n".join(shown)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    summary = f"{sign} {call.name} {arguments or ''}".strip()
    return f"<details>\n<summary>{_escaped(summary)}</summary>\n\n{fence}\n{body}\n{fence}\n\n</details>"


def _said(arguments: JsonObject) -> str:
    """The arguments that fit on a line."""
    short: list[str] = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else _compact(value)
        fits = len(text) <= 80 and "\n" not in text
        short.append(f"{name}={text if fits else '…'}")
    return " ".join(short)


def _compact(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _texts(content: Sequence[object]) -> list[str]:
    return [
        block.text if isinstance(block, TextBlock) else "*(image)*"
        for block in content
        if isinstance(block, TextBlock | ImageBlock)
    ]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
