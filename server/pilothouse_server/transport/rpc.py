"""JSON-RPC: every request gets exactly one answer, whatever it holds."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from pilothouse_server import method_names as names
from pilothouse_server.transport.codec import decode, encode
from pilothouse_server.transport.outbox import Outbox

__all__ = [
    "CANCELLED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOT_INITIALIZED",
    "ClientGone",
    "Part",
    "RequestFault",
    "Rpc",
    "Waiting",
]

logger = logging.getLogger(__name__)

Id: TypeAlias = int | str
Json: TypeAlias = dict[str, Any]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
NOT_INITIALIZED, CANCELLED = -32002, -32800

_NOT_AN_OBJECT = "A message must be a JSON object; batches are not taken."
_NOT_A_MESSAGE = (
    'A message needs "jsonrpc": "2.0", a method, and for a request an id: a string or an integer.'
)


class RequestFault(Exception):
    """Answers a request with an error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ClientGone(Exception):
    """The connection ended while the client was being asked."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A handler's answer that is still to come; `$/cancelRequest` calls `on_cancel` instead of cancelling."""

    answer: Awaitable[Any]
    on_cancel: Callable[[], object]


class Part(Protocol):
    """A part of the server that messages are for: the agent, or pygls' LSP features."""

    def request(self, method: str, params: Json) -> Any:
        """Admit a request where its frame is read: the answer, an awaitable of it, or `Waiting`.

        Raises `RequestFault`.
        """
        ...

    def notification(self, method: str, params: Json) -> None: ...


class Front(Protocol):
    """What the connection asks of the server around it."""

    def initialize(self, params: Json) -> Json: ...

    async def shut_down(self) -> None: ...

    def exit(self, code: int) -> None: ...

    def part(self, method: str) -> Part | None:
        """The part a message is for; None while it is being loaded, then `Rpc.resume` is called."""
        ...


@dataclass(slots=True)
class _Held:
    """A message that waits for its part, and with it all that came later."""

    message: Json
    cancelled: bool = False


class Rpc:
    """One connection, in both directions. Nothing a client sends makes `receive` raise."""

    def __init__(self, outbox: Outbox, front: Front) -> None:
        self._outbox = outbox
        self._front = front
        self._initialized = False
        self._shut_down = False
        self._closed = False
        self._incoming: dict[Id, asyncio.Future[Any]] = {}
        self._cancels: dict[Id, Callable[[], object]] = {}
        self._outgoing: dict[Id, asyncio.Future[Any]] = {}
        self._held: deque[_Held] = deque()
        self._next_id = 0

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
            message = decode(body)
        except ValueError as error:
            self._answer_error(None, PARSE_ERROR, f"The message is not JSON: {error}")
            return
        if not isinstance(message, dict):
            self._answer_error(None, INVALID_REQUEST, _NOT_AN_OBJECT)
            return
        try:
            self._sort(cast("Json", message))
        except Exception:
            logger.exception("A message could not be handled")

    def refuse_frame(self, reason: str) -> None:
        self._answer_error(None, PARSE_ERROR, reason)

    def resume(self) -> None:
        """Go on with the messages that were held, in their order, as far as their parts are there."""
        while self._held and self._pass_on(self._held[0]):
            self._held.popleft()

    def fail_outgoing(self) -> None:
        """The client is gone: whoever waits for it is told."""
        self._closed = True
        outgoing, self._outgoing = self._outgoing, {}
        for future in outgoing.values():
            if not future.done():
                future.set_exception(ClientGone("The connection to the client has ended."))

    async def request(self, method: str, params: Any, *, limit: float | None) -> Any:
        """Ask the client; the parsed result. `limit` is in seconds, None only for questions to a person.

        Raises `RequestFault` for an error answer, `ClientGone`, or TimeoutError. When it is
        cancelled or late, the client is told with `$/cancelRequest` and its answer is ignored.
        """
        if self._closed:
            raise ClientGone("The connection to the client has ended.")
        self._next_id += 1
        msg_id = f"s{self._next_id}"
        future = self._outgoing[msg_id] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(limit):
                return await future
        finally:
            if self._outgoing.pop(msg_id, None) is not None and not self._closed:
                self.notify(names.CANCEL, {"id": msg_id})

    def notify(self, method: str, params: Any) -> None:
        """`params` are JSON values."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _sort(self, message: Json) -> None:
        """Answers and life cycle at once; the rest in order of arrival, held while a part is loaded."""
        method, has_id, msg_id = message.get("method"), "id" in message, message.get("id")
        if has_id and method is None and ("result" in message or "error" in message):
            self._take_answer(msg_id, message)
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
            self._begin(msg_id, self._front.shut_down())
        else:
            self._in_order(message)

    def _refusal(self, msg_id: Id, method: str) -> tuple[int, str, Json | None] | None:
        if msg_id in self._incoming or any(held.message.get("id") == msg_id for held in self._held):
            return INVALID_REQUEST, f"The request id {msg_id!r} is already in use.", None
        if self._shut_down:
            return INVALID_REQUEST, "The server is shutting down.", {"kind": "shuttingDown"}
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
        self._answer(msg_id, result)

    def _take_notification(self, method: str, message: Json) -> None:
        params = message.get("params")
        if method == names.EXIT:
            self._front.exit(self.exit_code)
        elif method == names.CANCEL:
            if isinstance(params, dict):
                self._cancel(cast("Json", params).get("id"))
        elif not self._initialized or self._shut_down:
            logger.info("Dropped %s, which came outside initialize and shutdown", method)
        elif params is not None and not isinstance(params, dict):
            logger.warning("Dropped %s, whose params are not an object", method)
        else:
            self._in_order(message)

    def _in_order(self, message: Json) -> None:
        held = _Held(message)
        if self._held or not self._pass_on(held):
            self._held.append(held)

    def _pass_on(self, held: _Held) -> bool:
        """Give a message to its part; False when the part is not there yet."""
        message = held.message
        method, params = cast("str", message["method"]), cast("Json", message.get("params") or {})
        msg_id = cast("Id | None", message.get("id"))
        if held.cancelled and msg_id is not None:
            self._answer_error(msg_id, CANCELLED, "The request was cancelled.")
            return True
        part = self._front.part(method)
        if part is None:
            return False
        try:
            if msg_id is None:
                part.notification(method, params)
            else:
                self._begin(msg_id, part.request(method, params))
        except Exception as error:
            if msg_id is None:
                logger.exception("The notification %s could not be handled", method)
            else:
                self._answer_fault(msg_id, error)
        return True

    def _begin(self, msg_id: Id, outcome: Any) -> None:
        """Answer now, or when the awaitable ends."""
        if isinstance(outcome, Waiting):
            self._cancels[msg_id] = outcome.on_cancel
            outcome = outcome.answer
        if not inspect.isawaitable(outcome):
            self._answer(msg_id, outcome)
            return
        future = self._incoming[msg_id] = asyncio.ensure_future(outcome)
        future.add_done_callback(lambda done: self._finish(msg_id, done))

    def _finish(self, msg_id: Id, done: asyncio.Future[Any]) -> None:
        self._incoming.pop(msg_id, None)
        self._cancels.pop(msg_id, None)
        if done.cancelled():
            self._answer_error(msg_id, CANCELLED, "The request was cancelled.")
        elif (error := done.exception()) is not None:
            self._answer_fault(msg_id, error)
        else:
            self._answer(msg_id, done.result())

    def _cancel(self, msg_id: Any) -> None:
        if not isinstance(msg_id, int | str):
            return
        for held in self._held:
            if held.message.get("id") == msg_id:
                held.cancelled = True
        if (on_cancel := self._cancels.get(msg_id)) is not None:
            on_cancel()
        elif (future := self._incoming.get(msg_id)) is not None:
            future.cancel()

    def _take_answer(self, msg_id: Any, message: Json) -> None:
        """The client's answer to a request of ours; late and malformed ones harm nobody."""
        future = self._outgoing.pop(msg_id, None) if isinstance(msg_id, int | str) else None
        if future is None or future.done():
            logger.info("Ignored an answer to a request that is not open (any more)")
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
            return
        fields = cast("Json", error) if isinstance(error, dict) else {}
        code, text = fields.get("code"), fields.get("message")
        future.set_exception(
            RequestFault(code if isinstance(code, int) else INTERNAL_ERROR, str(text or "The client failed."))
        )

    def _answer(self, msg_id: Id, result: Any) -> None:
        try:
            body = encode({"jsonrpc": "2.0", "id": msg_id, "result": result})
        except (TypeError, ValueError):
            logger.exception("A result cannot be put into JSON")
            self._answer_error(msg_id, INTERNAL_ERROR, "The result could not be put into JSON.")
            return
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
        self._send({"jsonrpc": "2.0", "id": msg_id, "error": error})

    def _send(self, message: Json) -> None:
        try:
            self._outbox.send(encode(message))
        except (TypeError, ValueError):
            logger.exception("A message cannot be put into JSON")
