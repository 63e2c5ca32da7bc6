"""Turns of a script as a Chat Completions server would send them."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from support.model_server import Answer, calls_chunk, chat_body, finish_chunk, json_answer, text_chunk

__all__ = ["chat_answer"]

Turn: TypeAlias = dict[str, Any]


def chat_answer(turn: Turn) -> Answer:
    """The answer to one request; `turn` may have text, calls, error, cut and stall."""
    texts = [turn["text"]] if isinstance(turn.get("text"), str) else turn.get("text", [])
    chunks = [text_chunk(text) for text in texts]
    chunks += [calls_chunk(_call(index, call)) for index, call in enumerate(turn.get("calls", []))]
    if error := turn.get("error"):
        return _failure(error, chunks)
    if turn.get("cut"):
        return Answer.of(chat_body(*chunks, done=False), end="abort")
    if turn.get("stall"):
        return Answer.of(chat_body(*chunks, done=False), end="hang")
    return Answer.of(chat_body(*chunks, finish_chunk("tool_calls" if turn.get("calls") else "stop")))


def _failure(error: Turn, chunks: list[dict[str, Any]]) -> Answer:
    body = {"error": {key: error[key] for key in ("message", "code") if key in error}}
    count = error.get("afterDeltas", 0)
    if count == 0:
        return json_answer(error["status"], body)
    return Answer.of(chat_body(*chunks[:count], body, done=False))


def _call(index: int, call: Turn) -> dict[str, Any]:
    arguments = call.get("argumentsText", json.dumps(call.get("arguments", {})))
    function = {"name": call["name"], "arguments": arguments}
    return {"index": index, "id": call["id"], "type": "function", "function": function}
