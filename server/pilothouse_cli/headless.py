"""A JSON-RPC 2.0 client of a server process, over its standard streams and framed as LSP does.

The command line, automation and tests use it; it loads neither pygls nor the models of the wire.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from pilothouse_agent.tools.shell.process_group import ProcessGroup
from pilothouse_server.wire.codec import decode, encode
from pilothouse_server.wire.frames import FrameParser, frame
from pilothouse_server.wire.json_object import Json, json_object
from pilothouse_server.wire.method_names import CANCEL, EXIT, INITIALIZE, INITIALIZED, SHUTDOWN

__all__ = ["JsonRpcClient", "Limits", "RpcError", "ServerGone"]

logger = logging.getLogger(__name__)

NotificationHandler: TypeAlias = Callable[[Json], Awaitable[None] | None]
RequestHandler: TypeAlias = Callable[[Json], Awaitable[Any]]

METHOD_NOT_FOUND, INTERNAL_ERROR, CANCELLED = -32601, -32603, -32800

_CHUNK = 64 * 1024
_STDERR_KEPT = 4096
_LAST_WORDS = 1.0
"""Seconds for what a dead server left in its pipes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. The server's own teardown takes up to 1.5 after exit and 3 after a signal."""

    handshake: float = 30
    shutdown: float = 4
    exit: float = 2.5
    terminate: float = 4


class RpcError(Exception):
    """An error answer; raised by a request handler it becomes one."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def kind(self) -> str | None:
        """What programs go by, where the server named one."""
        kind = json_object(self.data).get("kind")
        return kind if isinstance(kind, str) else None


class ServerGone(Exception):
    """The server process has ended, or what it sends cannot be understood."""


class JsonRpcClient:
    """Starts a server in a process group of its own and talks to it.

    As an async context manager it closes itself. Messages are handled in the order they came: a
    notification handler that returns an awaitable is awaited before anything later is read, answers
    included; a request of the server gets a task of its own.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._notification_handlers: dict[str, NotificationHandler] = {}
        self._request_handlers: dict[str, RequestHandler] = {}
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._answering: dict[int | str, asyncio.Task[None]] = {}
        self._last_id = 0
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None
        self._stderr = bytearray()
        self._gone: ServerGone | None = None

    async def __aenter__(self) -> JsonRpcClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def on_notification(self, method: str, handler: NotificationHandler) -> None:
        self._notification_handlers[method] = handler

    def on_request(self, method: str, handler: RequestHandler) -> None:
        """The handler is cancelled when the server withdraws its request."""
        self._request_handlers[method] = handler

    async def start(
        self, argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """Raises `ServerGone` when the program cannot be started."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env=env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ServerGone(f"The server could not be started: {error.strerror or error}") from None
        self._draining = asyncio.create_task(self._drain(_stream(self._process.stderr)))
        self._reading = asyncio.create_task(self._read(_stream(self._process.stdout)))

    async def handshake(self, params: Json) -> Json:
        """`initialize`, then `initialized`; the result of the first. Raises TimeoutError after its limit."""
        async with asyncio.timeout(self._limits.handshake):
            result = await self.request(INITIALIZE, params)
        self.notify(INITIALIZED, {})
        return result

    def request(self, method: str, params: Json | None = None) -> asyncio.Future[Any]:
        """Sent at once; the future gives the result or raises `RpcError` or `ServerGone`.

        Cancelling the future sends `$/cancelRequest`.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_retrieve)
        if self._gone is not None:
            future.set_exception(ServerGone(str(self._gone)))
            return future
        self._last_id += 1
        request_id = self._last_id
        self._pending[request_id] = future
        future.add_done_callback(lambda done: self._forget(request_id, done))
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})
        return future

    def notify(self, method: str, params: Json | None = None) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def close(self) -> int | None:
        """End the server: by shutdown and exit, then TERM, then KILL, each for a bounded time.

        Returns its exit code; None when it was never started. May be called again.
        """
        if self._process is None:
            return None
        if self._gone is None:
            with suppress(RpcError, ServerGone, TimeoutError):
                await asyncio.wait_for(self.request(SHUTDOWN), self._limits.shutdown)
            self.notify(EXIT)
        _stdin(self._process).close()
        await self._reap(self._process)
        await self._finish()
        return self._process.returncode

    def kill(self) -> None:
        """End the server and whatever is in its process group, without a word."""
        if self._process is not None and self._process.returncode is None:
            ProcessGroup(self._process.pid).send(signal.SIGKILL)

    async def _reap(self, process: asyncio.subprocess.Process) -> None:
        if await _ended(process, self._limits.exit):
            return
        with suppress(ProcessLookupError):
            process.terminate()
        if await _ended(process, self._limits.terminate):
            return
        self.kill()
        await process.wait()

    async def _finish(self) -> None:
        """End our own tasks; the pipes may still be held open by a stray child of the server."""
        tasks = [task for task in (self._reading, self._draining) if task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_WORDS)
        tasks += self._answering.values()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _send(self, message: Json) -> None:
        if self._process is not None and self._gone is None and not _stdin(self._process).is_closing():
            _stdin(self._process).write(frame(encode(message)))

    def _forget(self, request_id: int, done: asyncio.Future[Any]) -> None:
        if self._pending.pop(request_id, None) is not None and done.cancelled():
            self.notify(CANCEL, {"id": request_id})

    async def _drain(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(_CHUNK):
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT]

    async def _read(self, stdout: asyncio.StreamReader) -> None:
        parser = FrameParser()
        try:
            while data := await stdout.read(_CHUNK):
                parser.push(data)
                for body in parser.bodies():
                    await self._receive(decode(body))
        except Exception as error:
            self._fail(f"The server sent what is not a message: {error}.")
            return
        self._fail(await self._last_words())

    async def _last_words(self) -> str:
        assert self._process is not None
        assert self._draining is not None
        await _ended(self._process, _LAST_WORDS)
        await asyncio.wait({self._draining}, timeout=_LAST_WORDS)
        code = self._process.returncode
        ended = "closed its output" if code is None else f"ended with exit code {code}"
        stderr = self._stderr.decode("utf-8", "replace").strip()
        return f"The server {ended}.{' Its last words: ' + stderr if stderr else ''}"

    def _fail(self, why: str) -> None:
        self._gone = ServerGone(why)
        for future in list(self._pending.values()):
            if not future.done():
                future.set_exception(ServerGone(why))
        for task in self._answering.values():
            task.cancel()

    async def _receive(self, message: Any) -> None:
        fields = json_object(message)
        method, params = fields.get("method"), json_object(fields.get("params"))
        if not isinstance(method, str):
            self._take_answer(fields)
        elif "id" in fields:
            self._take_request(fields["id"], method, params)
        elif method == CANCEL:
            if task := self._answering.get(params.get("id", "")):
                task.cancel()
        else:
            await self._take_notification(method, params)

    def _take_answer(self, message: Json) -> None:
        future = self._pending.pop(message.get("id", 0), None)
        if future is None or future.done():
            return
        if message.get("error") is None:
            future.set_result(message.get("result"))
            return
        error = json_object(message["error"])
        future.set_exception(RpcError(error.get("code", 0), error.get("message", ""), error.get("data")))

    async def _take_notification(self, method: str, params: Json) -> None:
        handler = self._notification_handlers.get(method)
        if handler is None:
            return
        try:
            waiting = handler(params)
            if waiting is not None:
                await waiting
        except Exception:
            logger.exception("The handler of %s failed", method)

    def _take_request(self, request_id: int | str, method: str, params: Json) -> None:
        task = asyncio.create_task(self._answer(request_id, method, params))
        self._answering[request_id] = task
        task.add_done_callback(lambda _: self._answering.pop(request_id, None))

    async def _answer(self, request_id: int | str, method: str, params: Json) -> None:
        answer: Json
        try:
            answer = {"result": await self._handled(method, params)}
        except RpcError as error:
            answer = {"error": {"code": error.code, "message": error.message, "data": error.data}}
        except asyncio.CancelledError:
            self._reply(request_id, {"error": {"code": CANCELLED, "message": "Cancelled."}})
            raise
        except Exception as error:
            logger.exception("The handler of %s failed", method)
            text = f"The client failed: {type(error).__name__}"
            answer = {"error": {"code": INTERNAL_ERROR, "message": text}}
        self._reply(request_id, answer)

    async def _handled(self, method: str, params: Json) -> Any:
        handler = self._request_handlers.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"This client does not know {method!r}.")
        return await handler(params)

    def _reply(self, request_id: int | str, answer: Json) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, **answer})


def _stream(reader: asyncio.StreamReader | None) -> asyncio.StreamReader:
    assert reader is not None
    return reader


def _stdin(process: asyncio.subprocess.Process) -> asyncio.StreamWriter:
    assert process.stdin is not None
    return process.stdin


async def _ended(process: asyncio.subprocess.Process, limit: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), limit)
    except TimeoutError:
        return False
    return True


def _retrieve(future: asyncio.Future[Any]) -> None:
    """A failure that nobody awaits is no news: the request was sent without interest in its answer."""
    if not future.cancelled():
        future.exception()
