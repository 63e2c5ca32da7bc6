"""Stream events in the words of the recordings' `expected`, and what of it was wanted."""

from __future__ import annotations

from typing import Any

from pilothouse_agent.kernel.arguments import parse_arguments
from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import Delta, Failed, Finished, StreamEvent, ThinkingData, ToolExtra

__all__ = ["camel", "fits", "missing", "outcome_of", "wanted_of"]

STOPS = {"toolUse": "tool_use"}
BROKEN = {"connectionLost": "truncated", "incompleteStream": "truncated"}
SERVER_BLOCKS = ("_tool_use", "_tool_result")
USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
}


def outcome_of(events: list[StreamEvent], asked: str) -> dict[str, Any]:
    """Also checks that there is one terminal event, the last. `asked`: the whole model id."""
    end = events[-1]
    assert isinstance(end, Finished | Failed)
    assert not any(isinstance(event, Finished | Failed) for event in events[:-1])
    deltas = [event for event in events if isinstance(event, Delta)]
    finished = isinstance(end, Finished)
    return {
        "status": "complete" if finished else _status(end.error),
        "text": "".join(_blocks(deltas, "text").values()),
        "reasoning": _blocks(deltas, "thinking"),
        "sent_back": [event for event in events if isinstance(event, ThinkingData)],
        "tool_calls": _calls(events, deltas),
        "stop_reason": STOPS.get(end.stop_reason, end.stop_reason) if finished else "error",
        "usage": end.usage,
        "error": None if finished else end.error,
        "model": (finished and end.model) or asked.partition("/")[2],
    }


def wanted_of(meta: Any, outcome: dict[str, Any]) -> dict[str, Any]:
    """What is expected, with what the data accepts besides put in where that was given."""
    expected, wire = meta["expected"], meta["wire"]
    wanted: dict[str, Any] = expected | (expected.get("think_split") or {})
    for path, values in expected.get("accept", {}).items():
        if path in outcome and (isinstance(values, str) or outcome[path] in values):
            wanted[path] = outcome[path]
    result = {key: wanted[key] for key in ("status", "text", "model") if wanted.get(key) is not None}
    result["text"] += expected["refusal"] or ""
    result["reasoning"] = _wanted_reasoning(wire, wanted["reasoning"], outcome["reasoning"])
    if wanted["status"] == "complete":
        result |= _wanted_ending(wanted["stop_reason"], outcome)
        result["sent_back"] = _wanted_back(wire, expected, outcome["sent_back"])
    result["tool_calls"] = _wanted_calls(expected, outcome["tool_calls"])
    result["usage"] = _wanted_usage(expected["usage"], outcome["usage"])
    if result["status"] != "complete" or "accept" in expected:
        result.setdefault("error", _wanted_error(expected, outcome["error"]))
    return result


def fits(error: ErrorInfo, wanted: Any) -> bool:
    """Whether the error says what the data wants it to say."""
    return (
        ("kind" not in wanted or camel(error.kind) in _listed(wanted["kind"]))
        and wanted.get("retryable") in (error.retryable, None)
        and wanted.get("retry_after_s") in (error.retry_after, None)
        and not missing(wanted, error.message)
    )


def missing(error: Any, message: str) -> list[str]:
    said = [error["message"]] if error.get("message") else []
    texts = [" ".join(text.split()) for text in error.get("message_contains") or said]
    return [text for text in texts if text not in message]


def camel(kind: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind)


def _status(error: ErrorInfo) -> str:
    return "stalled" if "was silent" in error.message else BROKEN.get(error.kind, "error")


def _blocks(deltas: list[Delta], kind: str) -> dict[int, str]:
    texts: dict[int, str] = {}
    for delta in deltas:
        if delta.kind == kind:
            texts[delta.block] = texts.get(delta.block, "") + delta.text
    return texts


def _calls(events: list[StreamEvent], deltas: list[Delta]) -> list[dict[str, Any]]:
    extras = {event.block: event.extra for event in events if isinstance(event, ToolExtra)}
    texts = _blocks(deltas, "toolCall")
    first = {block: next(delta for delta in deltas if delta.block == block) for block in texts}
    return [
        {
            "id": first[block].call_id,
            "name": first[block].tool_name,
            "text": text,
            "arguments": parse_arguments(text),
            "extra": extras.get(block, {}),
        }
        for block, text in texts.items()
    ]


def _wanted_reasoning(wire: str, text: str, got: dict[int, str]) -> Any:
    """Chat has one thinking; the typed formats have blocks, which the data joins with a blank line."""
    return got if ("" if wire == "openai-chat" else "\n\n").join(got.values()) == text else text


def _wanted_ending(stop: str | None, outcome: dict[str, Any]) -> dict[str, Any]:
    """A word nobody knows is a plain stop; a full window is an error with what came before it.

    A filter makes a refusal of what was said, and an error where nothing was.
    """
    error: ErrorInfo | None = outcome["error"]
    if error is not None and stop in ("context_overflow", "content_filter") and camel(error.kind) == stop:
        return {"status": "error", "error": error}
    if stop == "content_filter":
        stop = "refusal"
    return {"stop_reason": "stop" if stop == "unknown" else stop or outcome["stop_reason"]}


def _wanted_back(wire: str, expected: Any, got: list[ThinkingData]) -> Any:
    parts = expected.get("reasoning_parts")
    if parts is None or _kept(wire, got) == _wanted_parts(wire, parts, expected.get("other_items") or []):
        return got
    return parts


def _kept(wire: str, got: list[ThinkingData]) -> list[Any]:
    datas: list[Any] = [{"signature": event.signature, **(event.data or {})} for event in got]
    match wire:
        case "openai-chat":
            details = [detail for data in datas for detail in data.get("reasoning_details", [])]
            signed = [("signature", detail["signature"]) for detail in details if detail.get("signature")]
            return [*signed, *(("encrypted", detail["data"]) for detail in details if detail.get("data"))]
        case "openai-responses":
            return [("encrypted", data["item"]["encrypted_content"]) for data in datas]
        case _:
            return sorted(_kept_block(data) for data in datas)


def _kept_block(data: Any) -> tuple[str, str]:
    if data["signature"] is not None:
        return "thinking", data["signature"]
    block = data["block"]
    redacted = block["type"] == "redacted_thinking"
    return (
        ("redacted", block["data"]) if redacted else (block["type"], block.get("id") or block["tool_use_id"])
    )


def _wanted_parts(wire: str, parts: list[Any], others: list[Any]) -> list[Any]:
    """What cannot go back (summaries without the sealed whole, unsigned thinking) is not wanted."""
    if wire != "anthropic-messages":
        kept = [(part["type"], part.get("signature") or part.get("data")) for part in parts]
        return [part for part in kept if part[0] in ("signature", "encrypted")]
    signed = [("thinking", part["signature"]) for part in parts if part.get("signature")]
    redacted = [("redacted", part["data"]) for part in parts if part["type"] == "redacted"]
    served = [(item["type"], item["id"]) for item in others if item["type"].endswith(SERVER_BLOCKS)]
    return sorted([*signed, *redacted, *served])


def _wanted_calls(expected: Any, got: list[dict[str, Any]]) -> list[dict[str, Any]]:
    accept = expected.get("accept", {})
    return [
        _wanted_call(call, got[place] if place < len(got) else {}, accept, f"tool_calls.{place}.arguments")
        for place, call in enumerate(expected["tool_calls"])
    ]


def _wanted_call(call: Any, got: dict[str, Any], accept: Any, path: str) -> dict[str, Any]:
    if call.get("kind") == "custom":
        kind = got.get("extra", {}).get("item", {}).get("type")
        text = call["input"] if kind == "custom_tool_call" else None
        return {**got, "id": call["id"], "name": call["name"], "text": text}
    free = call.get("arguments_any") or any(key.startswith(path + ".") for key in accept)
    accepted = got.get("arguments") in accept[path] if isinstance(accept.get(path), list) else False
    return {
        "id": call["id"] or "",
        "name": call["name"],
        "text": call.get("arguments_raw") if call.get("arguments_raw") is not None else got.get("text"),
        "arguments": got.get("arguments") if free or accepted else call["arguments"],
        "extra": got.get("extra"),
    }


def _wanted_usage(usage: Any, got: Any) -> Any:
    if usage is None or got is None:
        return usage
    differing = {ours: usage[theirs] for ours, theirs in USAGE.items() if getattr(got, ours) != usage[theirs]}
    return differing or got


def _wanted_error(expected: Any, got: Any) -> Any:
    """The error that was given if it says what is wanted, else what is wanted."""
    error = expected["error"]
    if error is None or got is None:
        return got if expected.get("accept", {}).get("status") else error
    return got if fits(got, error) else error


def _listed(kind: Any) -> list[str]:
    return [kind] if isinstance(kind, str) else kind
