"""Recorded and hand-made answers of many providers, kept beside the project, give the outcome beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pilothouse_agent.kernel.arguments import parse_arguments
from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import Delta, Failed, Finished, StreamEvent, ThinkingData
from pilothouse_agent.models.connection import Timeouts
from pilothouse_agent.models.errors import Source, http_error
from support.asking import MakeChat, ask, model_request
from support.model_server import Answer, ModelServer, Piece

DATA = Path(__file__).parents[3] / "shared" / "streams" / "data"
NOW = datetime.fromisoformat("2026-03-01T12:00:00Z")
FRAMING = ("content-length", "transfer-encoding", "connection")
STOPS = {"toolUse": "tool_use"}
BROKEN = {"connectionLost": "truncated", "incompleteStream": "truncated"}


def _cases(kind: str) -> list[Any]:
    metas = [json.loads(path.read_bytes()) for path in sorted(DATA.glob("*.json"))]
    chosen = [meta for meta in metas if meta["wire"] == "openai-chat" and meta["kind"] == kind]
    absent = pytest.param(None, marks=pytest.mark.skip("the shared streams are not beside this project"))
    return [pytest.param(meta, id=meta["id"], marks=_marks(meta)) for meta in chosen] or [absent]


def _marks(meta: Any) -> list[pytest.MarkDecorator]:
    pauses = sum(step.get("sleep_ms", 0) for step in meta["delivery"].get("steps", []))
    return [pytest.mark.slow] if pauses > 500 else []


@pytest.mark.parametrize("meta", _cases("stream"))
async def test_a_recorded_stream_gives_the_outcome_beside_it(
    meta: Any, server: ModelServer, chat: MakeChat
) -> None:
    server.play(_answer(meta))
    provider = chat(timeouts=Timeouts(5, 0.4))
    request = model_request(model=f"openai-chat/{meta['model'] or 'test-model'}")

    outcome = _outcome(await ask(provider, request), request.model)

    expected = _wanted(meta["expected"], outcome)
    assert {key: outcome[key] for key in expected} == expected


@pytest.mark.parametrize("meta", _cases("http-error"))
def test_a_recorded_error_body_is_judged_as_stated(meta: Any) -> None:
    wanted, accept = meta["expected"]["error"], meta["expected"].get("accept", {})
    headers = {name.lower(): value for name, value in meta["http"]["headers"].items()}

    error = http_error(Source(meta["provider"]), meta["http"]["status"], headers, _body(meta), now=NOW)

    assert _camel(error.kind) in _listed(wanted["kind"])
    assert wanted["retryable"] in (error.retryable, None)
    assert error.retry_after in accept.get("error.retry_after_s", [wanted["retry_after_s"]])
    assert _missing(wanted, error.message) == []


def _body(meta: Any) -> bytes:
    return (DATA / f"{meta['id']}.sse").read_bytes()


def _answer(meta: Any) -> Answer:
    how, body = meta["delivery"], _body(meta)
    headers = {name: value for name, value in meta["http"]["headers"].items() if name.lower() not in FRAMING}
    length = how.get("content_length", len(body)) if how.get("transfer") == "content-length" else None
    pieces = _pieces(how, body)
    return Answer(pieces, headers=headers, end=how["end"], length=length, silent=how["mode"] == "none")


def _pieces(how: Any, body: bytes) -> tuple[Piece, ...]:
    if how["mode"] != "steps":
        size = 1 if how["mode"] == "bytes" else max(1, len(body))
        return tuple(body[at : at + size] for at in range(0, len(body), size))
    pieces: list[Piece] = []
    for step in how["steps"]:
        if "send" in step:
            pieces.append(body[: step["send"]])
            body = body[step["send"] :]
        else:
            pieces.append(step["sleep_ms"] / 1000)
    return tuple(piece for piece in (*pieces, body) if piece)


def _outcome(events: list[StreamEvent], asked: str) -> dict[str, Any]:
    """The events in the words of the data's `expected`."""
    end = events[-1]
    assert isinstance(end, Finished | Failed)
    assert not any(isinstance(event, Finished | Failed) for event in events[:-1])
    deltas = [event for event in events if isinstance(event, Delta)]
    finished = isinstance(end, Finished)
    return {
        "status": "complete" if finished else _status(end.error),
        "text": _joined(deltas, "text"),
        "reasoning": _joined(deltas, "thinking"),
        "reasoning_parts": _sent_back(events),
        "tool_calls": _calls(deltas),
        "stop_reason": STOPS.get(end.stop_reason, end.stop_reason) if finished else "error",
        "usage": end.usage,
        "error": None if finished else end.error,
        "model": (finished and end.model) or asked.partition("/")[2],
    }


def _status(error: ErrorInfo) -> str:
    return "stalled" if "was silent" in error.message else BROKEN.get(error.kind, "error")


def _joined(deltas: Iterable[Delta], kind: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


def _calls(deltas: list[Delta]) -> list[dict[str, Any]]:
    blocks = dict.fromkeys(delta.block for delta in deltas if delta.kind == "toolCall")
    calls = [[delta for delta in deltas if delta.block == block] for block in blocks]
    return [_call(call[0], _joined(call, "toolCall")) for call in calls]


def _call(first: Delta, text: str) -> dict[str, Any]:
    return {"id": first.call_id, "name": first.tool_name, "text": text, "arguments": parse_arguments(text)}


def _sent_back(events: list[StreamEvent]) -> list[dict[str, Any]]:
    kept: list[Any] = [event.data or {} for event in events if isinstance(event, ThinkingData)]
    details = [detail for data in kept for detail in data.get("reasoning_details", [])]
    signed = [detail for detail in details if detail.get("signature")]
    sealed = [detail for detail in details if detail.get("data")]
    return [
        *({"type": "signature", "signature": d["signature"], "id": d.get("id")} for d in signed),
        *({"type": "encrypted", "data": d["data"], "id": d.get("id")} for d in sealed),
    ]


def _wanted(expected: Any, outcome: dict[str, Any]) -> dict[str, Any]:
    """What is expected, with what the data accepts besides put in where we gave that."""
    wanted: dict[str, Any] = expected | (expected.get("think_split") or {})
    for path, values in expected.get("accept", {}).items():
        if path in outcome and (isinstance(values, str) or outcome[path] in values):
            wanted[path] = outcome[path]
    keys = ("status", "text", "reasoning", "reasoning_parts", "model")
    result = {key: wanted[key] for key in keys if wanted.get(key) is not None}
    result["text"] += expected["refusal"] or ""
    if wanted["status"] == "complete":
        result["stop_reason"] = wanted["stop_reason"] or outcome["stop_reason"]
    result["tool_calls"] = _wanted_calls(expected, outcome["tool_calls"])
    result["usage"] = _wanted_usage(expected, outcome["usage"])
    result["error"] = _wanted_error(expected, outcome["error"])
    return result


def _wanted_calls(expected: Any, got: list[dict[str, Any]]) -> list[dict[str, Any]]:
    accept = expected.get("accept", {})
    return [
        _wanted_call(call, got[place] if place < len(got) else {}, accept, f"tool_calls.{place}.arguments")
        for place, call in enumerate(expected["tool_calls"])
    ]


def _wanted_call(call: Any, got: dict[str, Any], accept: Any, path: str) -> dict[str, Any]:
    free = call.get("arguments_any") or any(key.startswith(path + ".") for key in accept)
    accepted = got.get("arguments") in accept[path] if isinstance(accept.get(path), list) else False
    return {
        "id": call["id"] or "",
        "name": call["name"],
        "text": call.get("arguments_raw") if call.get("arguments_raw") is not None else got.get("text"),
        "arguments": got.get("arguments") if free or accepted else call["arguments"],
    }


def _wanted_usage(expected: Any, got: Any) -> Any:
    usage = expected["usage"]
    if usage is None or got is None:
        return usage
    names = {"input": "input_tokens", "output": "output_tokens", "reasoning": "reasoning_tokens"}
    names |= {"cache_read": "cache_read_tokens", "cache_write": "cache_write_tokens"}
    differing = {ours: usage[theirs] for ours, theirs in names.items() if getattr(got, ours) != usage[theirs]}
    return differing or got


def _wanted_error(expected: Any, got: Any) -> Any:
    """The error we gave if it says what is wanted, else what is wanted."""
    error = expected["error"]
    if error is None or got is None:
        return got if expected.get("accept", {}).get("status") else error
    fits = (
        ("kind" not in error or _camel(got.kind) in _listed(error["kind"]))
        and error.get("retryable") in (got.retryable, None)
        and error.get("retry_after_s") in (got.retry_after, None)
        and not _missing(error, got.message)
    )
    return got if fits else error


def _missing(error: Any, message: str) -> list[str]:
    said = [error["message"]] if error.get("message") else []
    texts = [" ".join(text.split()) for text in error.get("message_contains") or said]
    return [text for text in texts if text not in message]


def _listed(kind: Any) -> list[str]:
    return [kind] if isinstance(kind, str) else kind


def _camel(kind: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind)
