"""The bare loop: httpx and `json`, nothing else, doing the work that Pilothouse does.

In a process of its own; reads one JSON command a line and answers with one.
`{"do": "open", "url"}` sets where the model is; `{"do": "read", "model"}` reads one answer,
`{"do": "text", "model", "format"}` one of any format for its text only;
`{"do": "turns", "opening", "model"}` goes on from that first request until the model calls no more
tools. `{"do": "memory"}` tells the peak.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from benchmarks.process import peak_memory

__all__ = ["Bare", "main"]

Json: TypeAlias = dict[str, Any]


class Bare:
    def __init__(self) -> None:
        self._client = httpx.AsyncClient(trust_env=False, timeout=120)
        self._url = ""

    async def do(self, command: Json) -> Json:
        match command["do"]:
            case "open":
                self._url = command["url"]
                return {}
            case "read":
                return await self._read(command["model"])
            case "text":
                return await self._text(command["model"], _TEXTS[command["format"]])
            case "turns":
                return await self._turns(command["opening"], command["model"])
            case "memory":
                return {"peak": peak_memory(os.getpid())}
            case unknown:
                return {"error": f"There is no {unknown!r}."}

    async def _read(self, model: str) -> Json:
        wall, cpu = time.perf_counter(), time.process_time()
        first, text = 0.0, ""
        async for delta in self._deltas({"model": model, "messages": [], "stream": True}):
            if content := delta.get("content"):
                first = first or time.perf_counter() - wall
                text += content
        return {"first": first, "characters": len(text), **_used(wall, cpu)}

    async def _text(self, model: str, text_of: Callable[[Json], str]) -> Json:
        wall, cpu = time.perf_counter(), time.process_time()
        text = ""
        request: Json = {"model": model, "stream": True}
        async with self._client.stream("POST", self._url, json=request) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    text += text_of(json.loads(line[6:]))
        return {"characters": len(text), **_used(wall, cpu)}

    async def _turns(self, opening: Json, model: str) -> Json:
        """The time of each turn: request, answer, tools."""
        request: Json = {**opening, "model": model}
        messages: list[Json] = request["messages"]
        turns: list[Json] = []
        going_on = True
        while going_on:
            wall, cpu = time.perf_counter(), time.process_time()
            text = ""
            calls: list[Json] = []
            async for delta in self._deltas(request):
                text += delta.get("content") or ""
                _collect(calls, delta.get("tool_calls", ()))
            going_on = bool(calls)
            if calls:
                messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
                messages += [_result(call) for call in calls]
                turns.append(_used(wall, cpu))
        return {"turns": turns, "messages": len(messages)}

    async def _deltas(self, request: Json) -> AsyncGenerator[Json]:
        async with self._client.stream("POST", self._url, json=request) as response:
            async for line in response.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    yield choice["delta"]


def _chat_text(chunk: Json) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])


def _responses_text(event: Json) -> str:
    return event["delta"] if event["type"] == "response.output_text.delta" else ""


def _messages_text(event: Json) -> str:
    return event["delta"]["text"] if event["type"] == "content_block_delta" else ""


_TEXTS = {"openai-chat": _chat_text, "openai": _responses_text, "anthropic": _messages_text}


def _collect(calls: list[Json], fragments: list[Json]) -> None:
    for fragment in fragments:
        if fragment["index"] == len(calls):
            calls.append({"id": fragment["id"], "type": "function", "function": {**fragment["function"]}})
        else:
            calls[fragment["index"]]["function"]["arguments"] += fragment["function"]["arguments"]


def _result(call: Json) -> Json:
    arguments = json.loads(call["function"]["arguments"])
    tool = _TOOLS[call["function"]["name"]]
    return {"role": "tool", "tool_call_id": call["id"], "content": tool(arguments)}


def _todo_write(arguments: Json) -> str:
    unfinished = sum(todo["status"] != "completed" for todo in arguments["todos"])
    return f"The list is written. {unfinished or 'Nothing'} is unfinished."


def _read_file(arguments: Json) -> str:
    path, first, limit = arguments["path"], arguments["offset"], arguments["limit"]
    lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
    last = first + limit - 1
    return f"[{path}, lines {first}-{last} of {len(lines)}]\n{''.join(lines[first - 1 : last])}"


_TOOLS = {"todo_write": _todo_write, "read_file": _read_file}


def _used(wall: float, cpu: float) -> Json:
    """Seconds since then."""
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


async def main() -> None:
    bare = Bare()
    for line in sys.stdin:  # between commands there is nothing else to do
        sys.stdout.write(json.dumps(await bare.do(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
