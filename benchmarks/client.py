"""A light client: blocking, no types, next to no cost of its own."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import orjson

from benchmarks.process import cpu, peak_memory

__all__ = ["Client"]

Json: TypeAlias = dict[str, Any]

_CHUNK = 256 * 1024
_LIMIT = 60.0
"""Seconds for the next byte of the server."""
_END = 10.0
_BEFORE_LENGTH = len(b"Content-Length: ")


class Client:
    """One server process. Also a context manager, which kills it."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self._output = self._process.stdout.fileno()
        self._buffer = b""
        self._at = 0
        self._last_id = 0
        self._answers: dict[int, Json] = {}
        """Those that came while another was waited for."""

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    @property
    def cpu(self) -> float:
        return cpu(self._process.pid)

    @property
    def peak_memory(self) -> float:
        return peak_memory(self._process.pid)

    def send(self, method: str, params: Json) -> int:
        """A request; its id."""
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: Json) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request_id: object, result: Json) -> None:
        """To a request of the server."""
        self._write({"jsonrpc": "2.0", "id": request_id, "result": result})

    def receive(self) -> Json:
        """The next message."""
        while True:
            head = self._buffer.find(b"\r\n\r\n", self._at)
            if head >= 0:
                end = head + 4 + int(self._buffer[self._at + _BEFORE_LENGTH : head].split(b"\r")[0])
                if len(self._buffer) >= end:
                    self._at = end
                    return orjson.loads(self._buffer[head + 4 : end])
            self._read()

    def event(self) -> Json:
        """The next event's params; answers that come before it are kept."""
        while True:
            message = self.receive()
            if message.get("method") == "agent/event":
                return message["params"]
            if "method" not in message:
                self._answers[message["id"]] = message

    def settled(self, request_id: int, on_event: Callable[[Json], object] | None = None) -> Json:
        """The answer to a request; the events before it are given to `on_event`."""
        while request_id not in self._answers:
            message = self.receive()
            if "method" not in message:
                self._answers[message["id"]] = message
            elif on_event is not None and message["method"] == "agent/event":
                on_event(message["params"])
        return self._answers.pop(request_id)

    def ask(self, method: str, params: Json, on_event: Callable[[Json], object] | None = None) -> Json:
        answer = self.settled(self.send(method, params), on_event)
        if "error" in answer:
            raise RuntimeError(f"The server refused {method}: {answer['error']}")
        return answer["result"]

    def end(self) -> int:
        """Shut the server down; its exit code."""
        self.ask("shutdown", {})
        self.notify("exit", {})
        self._stdin.close()
        return self._process.wait(_END)

    def _write(self, message: Json) -> None:
        body = orjson.dumps(message)
        self._stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _read(self) -> None:
        ready, _, _ = select.select([self._output], [], [], _LIMIT)
        data = os.read(self._output, _CHUNK) if ready else b""
        if not data:
            raise RuntimeError("The server has ended." if ready else "The server is silent.")
        self._buffer = self._buffer[self._at :] + data
        self._at = 0
