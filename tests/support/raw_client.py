"""A server process and its bare descriptors: sends what it is told, reads only when it is told to."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, TypeAlias

from pilothouse_server.wire.frames import frame
from support.wire_run import settled_home

__all__ = ["LIMIT", "SERVER", "RawClient", "ServerProcess", "notification", "request", "started"]

Json: TypeAlias = dict[str, Any]

SERVER = (sys.executable, "-P", "-m", "pilothouse_cli.main", "serve")
_BEGIN = b"Content-Length: "
_HEADER = re.compile(rb"Content-Length: (\d+)\r\n\r\n")
LIMIT = 20.0
"""Seconds any wait may take; the server's start on a busy machine is part of the first."""


class ServerProcess(Protocol):
    """The part of `subprocess.Popen` that is used."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, minus a signal's number. Raises `subprocess.TimeoutExpired`."""
        ...

    def kill(self) -> None: ...


def request(msg_id: object, method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params}


def notification(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def started(
    home: Path,
    *,
    argv: Sequence[str] = SERVER,
    stdin: int = subprocess.PIPE,
    stderr: int = subprocess.DEVNULL,
    variables: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> RawClient:
    """A client of a new process, which keeps what is its own below `home`."""
    environment = {**settled_home(home), **(variables or {})}
    return RawClient(
        subprocess.Popen(
            argv, env=environment, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, bufsize=0
        )
    )


class RawClient:
    """`seen` has all messages that were read, in order. Leaving it kills the server if it is still there."""

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self.seen: list[Json] = []
        self._buffer = bytearray()
        self._unread: list[Json] = []
        assert process.stdout is not None
        self._output = process.stdout

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(LIMIT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):
                if stream is not None:
                    stream.close()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) or 0 :]

    def send(self, *messages: Json) -> None:
        """All in one write."""
        self.write(b"".join(frame(json.dumps(message).encode()) for message in messages))

    def notify(self, method: str, **params: Any) -> None:
        self.send(notification(method, **params))

    def read(self, limit: float = LIMIT) -> Json | None:
        """The next message; None at the end of output. Raises TimeoutError."""
        until = time.monotonic() + limit
        while not self._unread:
            if not select.select([self._output], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"no message within {limit} s; so far: {self.seen[-5:]}")
            data = os.read(self._output.fileno(), 1 << 20)
            if not data:
                return None
            self._buffer += data
            self._unread += self._messages()
        self.seen.append(self._unread.pop(0))
        return self.seen[-1]

    def _messages(self) -> Iterator[Json]:
        """Strict: there is nothing but frames of one kind."""
        while header := _HEADER.match(self._buffer):
            end = header.end() + int(header[1])
            if len(self._buffer) < end:
                return
            yield json.loads(bytes(self._buffer[header.end() : end]))
            del self._buffer[:end]
        assert re.fullmatch(rb"(Content-Length: \d+\r?\n?\r?)?", self._buffer) or _BEGIN.startswith(
            bytes(self._buffer)
        ), f"not a frame: {bytes(self._buffer[:200])!r}"

    def until(self, **fields: Any) -> Json:
        """Read up to the next message with these fields, such as `id=1` or `method="agent/event"`."""
        while (message := self.read()) is not None:
            if all(message.get(name) == value for name, value in fields.items()):
                return message
        raise AssertionError(f"the output ended without {fields}; exit code {self.process.wait(LIMIT)}")

    def answer(self, msg_id: object) -> Json:
        """Read up to the answer: the message without what is the same in all."""
        message = self.until(id=msg_id, method=None)
        return {name: value for name, value in message.items() if name not in ("jsonrpc", "id")}

    def ask(self, msg_id: object, method: str, **params: Any) -> Json:
        self.send(request(msg_id, method, **params))
        return self.answer(msg_id)

    def event(self, kind: str) -> Json:
        """The params of the next event of this type."""
        while True:
            params = self.until(method="agent/event")["params"]
            if params["type"] == kind:
                return params

    def initialize(
        self, *, process_id: int | None = None, options: Json | None = None, **capabilities: Any
    ) -> Json:
        """The result; `options` is what the client says of itself as one of ours."""
        params: Json = {"processId": process_id, "capabilities": capabilities}
        if options is not None:
            params["initializationOptions"] = {"pilothouse": options}
        answer = self.ask("initialize", "initialize", **params)
        self.notify("initialized")
        return answer["result"]

    def session(self, folder: Path, model: str, *, mode: str = "all") -> str:
        """The id of a new session."""
        answer = self.ask("session/new", "session/new", cwd=str(folder), model=model, mode=mode)
        return answer["result"]["sessionId"]

    def rest(self) -> list[Json]:
        """Everything up to the end of output."""
        messages: list[Json] = []
        while (message := self.read()) is not None:
            messages.append(message)
        return messages

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close_output(self) -> None:
        self._output.close()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def ended(self, limit: float = LIMIT) -> int:
        """The exit code; minus a signal's number. Raises `subprocess.TimeoutExpired`."""
        return self.process.wait(limit)
