"""A loopback HTTP server that plays answers of a model provider, good ones and broken ones."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, TypeAlias

__all__ = [
    "Answer",
    "ModelServer",
    "Piece",
    "RecordedRequest",
    "calls_chunk",
    "chat_body",
    "choice_chunk",
    "finish_chunk",
    "json_answer",
    "text_chunk",
]

Piece: TypeAlias = "bytes | float | asyncio.Event"
"""Bytes go out as one piece; a number is a pause in seconds; an event is waited for."""
Ending: TypeAlias = Literal["clean", "abort", "reset", "hang"]

_EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
_LINGER_NONE = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Answer:
    pieces: tuple[Piece, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: _EVENT_STREAM)
    end: Ending = "clean"
    """abort: closed without the last chunk; reset: torn down; hang: open and silent."""
    length: int | None = None
    """Content-Length in place of chunks; may be a lie."""
    silent: bool = False
    """Not even a status line comes."""

    @classmethod
    def of(cls, body: bytes, *, cut: int = 0, **options: Any) -> Answer:
        """The body in one piece, or in pieces of `cut` bytes."""
        size = cut or max(1, len(body))
        return cls(tuple(body[at : at + size] for at in range(0, len(body), size)), **options)


@dataclass(frozen=True)
class RecordedRequest:
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    method: str = "POST"

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ModelServer:
    """Async context manager; plays its answers in order and then fails with 500.

    What is only asked of it (GET, and what Ollama is asked beside its answers) is answered by its path,
    and with 404 where nothing is known.
    """

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.answers: list[Answer] = list(answers)
        self.requests: list[RecordedRequest] = []
        self.facts: dict[str, list[Answer]] = {}
        """By path; the last one stays."""
        self.questions: list[RecordedRequest] = []
        self.connections = 0
        self.asked = asyncio.Event()
        """A request has come."""
        self.left = asyncio.Event()
        """A client has gone away in the middle of an answer that hangs."""
        self._tls = tls
        self._handlers: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> ModelServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=64 << 20, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, *answers: Answer) -> None:
        self.answers.extend(answers)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can be used for another request."""
        request = await _read_request(reader)
        answer = self._answer(request)
        if not answer.silent:
            await _send(answer, writer)
        if answer.end == "hang" or answer.silent:
            await reader.read()
            self.left.set()
        if answer.end == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
        return answer.end == "clean" and not answer.silent

    def _answer(self, request: RecordedRequest) -> Answer:
        if request.method == "GET" or request.path.startswith("/api/"):
            self.questions.append(request)
            facts = self.facts.get(request.path, [json_answer(404, {})])
            return facts.pop(0) if len(facts) > 1 else facts[0]
        self.requests.append(request)
        self.asked.set()
        return self.answers.pop(0) if self.answers else json_answer(500, {"error": "no answer left"})


async def _read_request(reader: asyncio.StreamReader) -> RecordedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = head[0].split(" ")
    return RecordedRequest(path, headers, body, method)


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> None:
    framing = "transfer-encoding: chunked" if answer.length is None else f"content-length: {answer.length}"
    lines = [f"HTTP/1.1 {answer.status} Status", framing]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    for piece in answer.pieces:
        if isinstance(piece, bytes):
            writer.write(piece if answer.length is not None else b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        elif isinstance(piece, asyncio.Event):
            await piece.wait()
        else:
            await asyncio.sleep(piece)
    if answer.end == "clean" and answer.length is None:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


def json_answer(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    content = json.dumps(body).encode()
    return Answer(
        (content,), status, {"content-type": "application/json", **(headers or {})}, length=len(content)
    )


def chat_body(*chunks: Mapping[str, Any], done: bool = True) -> bytes:
    """The chunks as server-sent events, `[DONE]` at the end."""
    events = [json.dumps(chunk, ensure_ascii=False) for chunk in chunks] + (["[DONE]"] if done else [])
    return "".join(f"data: {event}\n\n" for event in events).encode()


def text_chunk(text: str, **delta: Any) -> dict[str, Any]:
    return choice_chunk(delta={"content": text, **delta})


def calls_chunk(*calls: Mapping[str, Any]) -> dict[str, Any]:
    return choice_chunk(delta={"tool_calls": list(calls)})


def finish_chunk(reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """`fields` go beside the choices: usage, error."""
    return {**choice_chunk(delta={}, finish_reason=reason), **fields}


def choice_chunk(**choice: Any) -> dict[str, Any]:
    """A chunk with one choice of these fields."""
    filled = {"index": 0, "finish_reason": None, **choice}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [filled]}
