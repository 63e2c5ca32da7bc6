"""What the scripted model answers: whole HTTP answers as bytes, made once, the same for everybody."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from benchmarks.named_events import messages_events, responses_events

__all__ = ["Script", "endless", "script"]

Json: TypeAlias = dict[str, Any]
Script: TypeAlias = tuple[bytes, ...]
"""The answers to the requests of one run, in order."""

_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)
_END = b"0\r\n\r\n"
_DELTA_TEXT = " measured"
_FRAGMENT = 12
"""Characters of a call's arguments in one delta."""
_PACKED = 16
"""Events in one chunk, as when a proxy collects them."""
_USAGE = {"prompt_tokens": 1200, "completion_tokens": 60, "total_tokens": 1260}


def script(name: str) -> Script:
    """By name and number: `text-10000`, `packed-10000`, `todo-50`, `read-50`, `edit-50`, `shell-8`.

    `responses-10000` and `messages-10000` are like `text`, in the formats `openai` and `anthropic`.
    """
    kind, _, number = name.partition("-")
    count = int(number)
    match kind:
        case "responses":
            return (_http(responses_events([_DELTA_TEXT] * count)),)
        case "messages":
            return (_http(messages_events([_DELTA_TEXT] * count)),)
        case "text":
            return (_answer([_text(_DELTA_TEXT)] * count),)
        case "packed":
            return (_answer([_text(_DELTA_TEXT)] * count, in_chunk=_PACKED),)
        case "todo":
            return (*(_calls([_todo_call(turn)]) for turn in range(count)), _answer([_text("Done.")]))
        case "read":
            return (*(_calls([_read_call(turn)]) for turn in range(count)), _answer([_text("Done.")]))
        case "edit":
            return (*(_calls([_edit_call(turn)]) for turn in range(count)), _answer([_text("Done.")]))
        case "shell":
            return (_calls([_shell_call(index) for index in range(count)]), _answer([_text("Done.")]))
        case _:
            raise ValueError(f"There is no script {name!r}.")


def endless() -> tuple[bytes, bytes]:
    """How an answer without end begins, and a hundred deltas of it."""
    return _HEAD, _chunk(_event(_choice(_text(_DELTA_TEXT)))) * 100


def _todo_call(turn: int) -> tuple[str, Json]:
    """Different in each turn: a call repeated with the same result would be taken for a loop."""
    return "todo_write", {"todos": [{"content": f"Look at part {turn}", "status": "completed"}]}


def _read_call(turn: int) -> tuple[str, Json]:
    return "read_file", {"path": "notes.txt", "offset": turn % 20 + 1, "limit": 5}


def _edit_call(turn: int) -> tuple[str, Json]:
    return "edit_file", {
        "path": "large.txt",
        "old_text": f"edited {turn:04} times",
        "new_text": f"edited {turn + 1:04} times",
    }


def _shell_call(index: int) -> tuple[str, Json]:
    return "bash", {"command": f"sleep 0.2; echo {index}"}


def _calls(calls: list[tuple[str, Json]]) -> bytes:
    deltas: list[Json] = []
    for index, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        function = {"name": name, "arguments": ""}
        call_id = f"call_{name}_{index}"
        deltas.append(_tool_calls(index, {"id": call_id, "type": "function", "function": function}))
        deltas += [
            _tool_calls(index, {"function": {"arguments": text[at : at + _FRAGMENT]}})
            for at in range(0, len(text), _FRAGMENT)
        ]
    return _answer(deltas, reason="tool_calls")


def _tool_calls(index: int, call: Json) -> Json:
    return {"tool_calls": [{"index": index, **call}]}


def _text(text: str) -> Json:
    return {"content": text}


def _answer(deltas: list[Json], *, reason: str = "stop", in_chunk: int = 1) -> bytes:
    opening = _choice({"role": "assistant", "content": ""})
    usage: Json = {**_common(), "choices": [], "usage": _USAGE}
    chunks = [opening, *map(_choice, deltas), _choice({}, reason=reason), usage]
    return _http([*map(_event, chunks), b"data: [DONE]\n\n"], in_chunk=in_chunk)


def _choice(delta: Json, *, reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {**_common(), "choices": [choice]}


def _common() -> Json:
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion.chunk",
        "created": 1741569952,
        "model": "benchmark",
        "system_fingerprint": "fp_44709d6fcb",
    }


def _event(chunk: Json) -> bytes:
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def _http(events: list[bytes], *, in_chunk: int = 1) -> bytes:
    """One chunk an event, as providers send them, or several events in one."""
    pieces = [b"".join(events[at : at + in_chunk]) for at in range(0, len(events), in_chunk)]
    return _HEAD + b"".join(map(_chunk, pieces)) + _END


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
