"""JSON-RPC: every request gets exactly one answer, whatever it holds."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from pilothouse_server.transport.asking import Asking
from pilothouse_server.transport.front import Front, Host
from pilothouse_server.transport.outbox import Outbox
from pilothouse_server.transport.trace import Trace
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.codec import decode, encode
from pilothouse_server.wire.faults import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    PARSE_ERROR,
    SHUTTING_DOWN,
    ClientGone,
    RequestFault,
)
from pilothouse_server.wire.json_object import Json

__all__ = [
    "CANCELLED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOT_INITIALIZED",
    "ClientGone",
    "RequestFault",
    "Rpc",
    "Waiting",
]

logger = logging.getLogger(__name__)

Id: TypeAlias = int | str

_NOT_AN_OBJECT = "A message must be a JSON object; batches are not taken."
_NOT_A_MESSAGE = (
    'A message needs "jsonrpc": "2.0", a method, and for a request an id: a string or an integer.'
)
_CANCELLED = "The request was cancelled."
_ENDING = (SHUTTING_DOWN, "The server is shutting down.", {"kind": "shuttingDown"})
_LAST_ANSWERS = 0.2
"""Seconds that requests which are still being worked on have, first to end and then to be cancelled."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A handler's answer that is still to come; `$/cancelRequest` calls `on_cancel` instead of cancelling."""

    answer: Awaitable[Any]
    on_cancel: Callable[[], object]


@dataclass(slots=True)
class _Request:
    """A request that has no answer yet: held for its turn, or being worked on."""

    running: asyncio.Future[Any] | None = None
    on_cancel: Callable[[], object] | None = None
    answered: bool = False
    """Before its turn came, or instead of what is working on it."""


class Rpc:
    """One connection, in both directions. Nothing a client sends makes `receive` raise."""

    def __init__(self, outbox: Outbox, front: Front) -> None:
        self._outbox = outbox
        self._front = front
        self._initialized = False
        self._shut_down = False
        self._asking = Asking(lambda message: outbox.send(encode(message)))
        self._open: dict[Id, _Request] = {}
        self.trace = Trace(self.notify)
        self._loading: asyncio.Future[Host] | None = None
        self._host: asyncio.Future[Host] | None = None
        """Done, with the host or the reason why there is none."""
        self._awaited: asyncio.Future[Any] | None = None
        """What has to be done before the next request is passed on."""
        self._held: deque[tuple[Json | bytes, _Request | None]] = deque()
        """Messages that wait, in order of arrival; as bytes those that nobody can read."""

    @property
    def exit_code(self) -> int:
        """What LSP wants the process to end with: 0 after a shutdown request, else 1."""
        return 0 if self._shut_down else 1

    @property
    def outbox(self) -> Outbox:
        return self._outbox

    def receive(self, body: bytes) -> None:
        """Take one message."""
        try:
            self._take(body)
        except Exception:
            logger.exception("A message could not be handled")

    def refuse_frame(self, reason: str) -> None:
        self._answer_error(None, PARSE_ERROR, reason)

    def hold(self, until: asyncio.Future[Any]) -> None:
        """From now on requests, and with them all that comes later, wait until this is done."""
        self._awaited = until
        until.add_done_callback(lambda _: self._resume())

    def request(self, method: str, params: Any, *, limit: float | None) -> Coroutine[Any, Any, Any]:
        """Ask the client; the parsed result. `limit` is in seconds, None only for questions to a person.

        The request is on its way when this returns, so that nothing comes between it and what it was made of.
        Raises `RequestFault` for an error answer, `ClientGone`, or TimeoutError. When it is
        cancelled or late, the client is told with `$/cancelRequest` and its answer is ignored.
        """
        return self._asking.request(method, params, limit=limit)

    @property
    def answers(self) -> int:
        """How many answers of the client have come."""
        return self._asking.answers

    @property
    def answered_by_person_at(self) -> float:
        """When somebody last answered a question, by the clock of `time.monotonic`."""
        return self._asking.answered_by_person_at

    def notify(self, method: str, params: Any) -> None:
        """`params` are JSON values."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def close(self) -> None:
        """The connection ends: nothing is taken any more, and all that is open gets its answer."""
        self._shut_down = True
        self._asking.close()
        self._refuse_held()
        await self._front.shut_down()
        await self._answer_rest()

    def _take(self, body: bytes) -> None:
        try:
            message = decode(body)
        except ValueError as error:
            self._answer_error(None, PARSE_ERROR, f"The message is not JSON: {error}")
            if self._initialized and not self._shut_down:
                self._in_order(body, None)
            return
        if isinstance(message, dict):
            self._sort(cast("Json", message))
        else:
            self._answer_error(None, INVALID_REQUEST, _NOT_AN_OBJECT)

    def _sort(self, message: Json) -> None:
        """Answers and life cycle at once; the rest in order of arrival, held while the host is loaded."""
        method, has_id, msg_id = message.get("method"), "id" in message, message.get("id")
        if has_id and method is None and _is_answer(message, self._asking):
            self._asking.take(message)
            return
        valid_id = isinstance(msg_id, int | str) and not isinstance(msg_id, bool)
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or (has_id and not valid_id):
            self._answer_error(msg_id if valid_id else None, INVALID_REQUEST, _NOT_A_MESSAGE)
        elif has_id:
            self._take_request(cast("Id", msg_id), method, message)
        else:
            self._take_notification(method, message)

    def _take_request(self, msg_id: Id, method: str, message: Json) -> None:
        refusal = self._refusal(msg_id, method)
        params = message.get("params")
        if refusal is not None:
            self._answer_error(msg_id, *refusal)
        elif params is not None and not isinstance(params, dict):
            self._answer_error(msg_id, INVALID_PARAMS, f"The params of {method} must be an object.")
        elif method == names.INITIALIZE:
            self._initialize(msg_id, cast("Json", params or {}))
        elif method == names.SHUTDOWN:
            self._shut_down = True
            self._begin(msg_id, _Request(), Waiting(self._settle(msg_id), lambda: None))
        elif not self._front.needs(method, asked=True):
            self._answer_error(msg_id, METHOD_NOT_FOUND, f"There is no request {method!r}.")
        else:
            self._in_order(message, msg_id)

    def _refusal(self, msg_id: Id, method: str) -> tuple[int, str, Json | None] | None:
        if msg_id in self._open:
            return INVALID_REQUEST, f"The request id {msg_id!r} is already in use.", None
        if self._shut_down:
            return _ENDING
        if not self._initialized and method != names.INITIALIZE:
            return NOT_INITIALIZED, "Send initialize first.", None
        if self._initialized and method == names.INITIALIZE:
            return INVALID_REQUEST, "initialize was sent already.", None
        return None

    def _initialize(self, msg_id: Id, params: Json) -> None:
        try:
            result = self._front.initialize(params)
        except Exception as error:
            self._answer_fault(msg_id, error)
            return
        self._initialized = True
        self.trace.set(params.get("trace"))
        self._answer(msg_id, result)

    def _take_notification(self, method: str, message: Json) -> None:
        params = message.get("params")
        if method == names.EXIT:
            self._front.exit(self.exit_code)
        elif method == names.CANCEL:
            if isinstance(params, dict):
                self._cancel(cast("Json", params).get("id"))
        elif not self._initialized or self._shut_down:
            logger.info("Dropped a notification that came outside initialize and shutdown")
        elif self._front.needs(method, asked=False):
            # Params of another shape count as none: what is told of a document must reach it in any case.
            self._in_order(message if isinstance(params, dict) else {**message, "params": {}}, None)

    def _in_order(self, message: Json | bytes, msg_id: Id | None) -> None:
        request = None if msg_id is None else _Request()
        if not self._held and self._pass_on(message, request):
            return
        if request is not None and msg_id is not None:
            self._open[msg_id] = request
        self._held.append((message, request))

    def _resume(self) -> None:
        while self._held and self._pass_on(*self._held[0]):
            self._held.popleft()

    def _pass_on(self, message: Json | bytes, request: _Request | None) -> bool:
        """Give a message to the host; False when its turn has not come yet."""
        if request is not None and request.answered:
            return True
        host = self._host or self._load()
        if host is None or (request is not None and self._awaited is not None and not self._awaited.done()):
            return False
        if isinstance(message, bytes):
            self._front.garbled(message)
        elif request is None:
            self._tell(host, message)
        else:
            self._ask(host, message, request)
        return True

    def _load(self) -> asyncio.Future[Host] | None:
        if self._loading is None:
            self._loading = self._front.load()
            if self._loading.done():
                self._host = self._loading
            else:
                self._loading.add_done_callback(self._loaded)
        return self._host

    def _loaded(self, host: asyncio.Future[Host]) -> None:
        self._host = host
        self._resume()

    def _ask(self, host: asyncio.Future[Host], message: Json, request: _Request) -> None:
        msg_id: Id = message["id"]
        self._open.pop(msg_id, None)
        try:
            self.trace.asked(message["method"], msg_id, message.get("params"))
            outcome = host.result().request(message["method"], message.get("params") or {})
            self._begin(msg_id, request, outcome)
        except Exception as error:
            self._answer_fault(msg_id, error)

    def _tell(self, host: asyncio.Future[Host], message: Json) -> None:
        if host.exception() is not None:
            return
        try:
            self.trace.told(message["method"], message.get("params"))
            host.result().notification(message["method"], message.get("params") or {})
        except Exception:
            logger.exception("The notification %.80s could not be handled", message["method"])

    def _begin(self, msg_id: Id, request: _Request, outcome: Any) -> None:
        """Answer now, or when the awaitable ends."""
        if isinstance(outcome, Waiting):
            request.on_cancel = outcome.on_cancel
            outcome = outcome.answer
        if not inspect.isawaitable(outcome):
            self._answer(msg_id, outcome)
            return
        self._open[msg_id] = request
        request.running = asyncio.ensure_future(outcome)
        request.running.add_done_callback(lambda done: self._finish(msg_id, request, done))

    def _finish(self, msg_id: Id, request: _Request, done: asyncio.Future[Any]) -> None:
        error = None if done.cancelled() else done.exception()
        if request.answered:
            return
        del self._open[msg_id]
        if done.cancelled():
            self._answer_error(msg_id, CANCELLED, _CANCELLED)
        elif error is not None:
            self._answer_fault(msg_id, error)
        else:
            self._answer(msg_id, done.result())

    def _cancel(self, msg_id: Any) -> None:
        request = self._open.get(msg_id) if isinstance(msg_id, int | str) else None
        if request is None:
            return
        if request.on_cancel is not None:
            request.on_cancel()
        elif request.running is not None:
            request.running.cancel()
        else:
            self._answer_early(msg_id, CANCELLED, _CANCELLED)

    async def _settle(self, shutdown_id: Id) -> None:
        """What `shutdown` waits for: every other request has its answer before it."""
        self._refuse_held()
        await self._front.shut_down()
        await self._answer_rest(shutdown_id)

    def _refuse_held(self) -> None:
        held, self._held = self._held, deque()
        for message, request in held:
            if request is not None and not request.answered and not isinstance(message, bytes):
                self._answer_early(message["id"], *_ENDING)

    async def _answer_rest(self, but: Id | None = None) -> None:
        """Wait a moment for what is being worked on, then cancel it, then answer in its place."""
        for cancel in (False, True):
            running = [r.running for msg_id, r in self._open.items() if msg_id != but and r.running]
            if not running:
                return
            for future in running if cancel else ():
                future.cancel()
            await asyncio.wait(running, timeout=_LAST_ANSWERS)
        for msg_id in [msg_id for msg_id in self._open if msg_id != but]:
            self._answer_early(msg_id, CANCELLED, _CANCELLED)

    def _answer_early(self, msg_id: Id, code: int, message: str, data: Json | None = None) -> None:
        self._open.pop(msg_id).answered = True
        self._answer_error(msg_id, code, message, data)

    def _answer(self, msg_id: Id, result: Any) -> None:
        try:
            body = encode({"jsonrpc": "2.0", "id": msg_id, "result": result})
        except (TypeError, ValueError):
            logger.exception("A result cannot be put into JSON")
            self._answer_error(msg_id, INTERNAL_ERROR, "The result could not be put into JSON.")
            return
        self.trace.answered(msg_id, "Result", result)
        self._outbox.send(body)

    def _answer_fault(self, msg_id: Id, error: BaseException) -> None:
        if isinstance(error, RequestFault):
            self._answer_error(msg_id, error.code, str(error), error.data)
            return
        logger.error("A request failed", exc_info=error)
        text = f"The request failed inside the server: {type(error).__name__}. The log has the details."
        self._answer_error(msg_id, INTERNAL_ERROR, text)

    def _answer_error(self, msg_id: Id | None, code: int, message: str, data: Json | None = None) -> None:
        error: Json = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.trace.answered(msg_id, "Error", error)
        self._send({"jsonrpc": "2.0", "id": msg_id, "error": error})

    def _send(self, message: Json) -> None:
        try:
            self._outbox.send(encode(message))
        except (TypeError, ValueError):
            logger.exception("A message cannot be put into JSON")


def _is_answer(message: Json, asking: Asking) -> bool:
    """Also one that holds nothing but the id of a question of ours, which means null."""
    return "result" in message or "error" in message or asking.has_asked(message.get("id"))
