"""JSON-RPC under pygls' feature registry and LSP types: every request gets exactly one answer."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future as ThreadFuture
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

from pilothouse_server.transport.codec import decode, encode

if TYPE_CHECKING:
    from pilothouse_server.transport.outbox import Outbox

__all__ = ["AgentProtocol", "ClientGone", "RequestFault", "Waiting"]

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
_UNFIT = (BaseValidationError, AttributeError, KeyError, TypeError, ValueError)
"""What the converter raises for params that do not fit."""


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


class AgentProtocol(LanguageServerProtocol):
    """Replaces pygls' reading, writing and error paths; its registry, builtin LSP handlers and
    converter stay.

    Custom methods get their params as parsed JSON. A handler is a plain function that admits the
    request where the frame is read and returns the answer, an awaitable of it, or `Waiting`.
    """

    outbox: Outbox
    raw_initialize: Json
    """The params of `initialize` as the client sent them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initialized = False
        self.on_shutdown: Callable[[], Awaitable[None]] | None = None
        self.on_exit: Callable[[int], None] = lambda code: None
        self._incoming: dict[Id, asyncio.Future[Any]] = {}
        self._cancels: dict[Id, Callable[[], object]] = {}
        self._outgoing: dict[Id, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._closed = False

    @property
    def exit_code(self) -> int:
        """What LSP wants the process to end with: 0 after a shutdown request, else 1."""
        return 0 if self._shutdown else 1

    def receive(self, body: bytes) -> None:
        """Take one message; whatever is in it, nothing is raised."""
        try:
            message = decode(body)
        except ValueError as error:
            self._answer_error(None, PARSE_ERROR, f"The message is not JSON: {error}")
            return
        if not isinstance(message, dict):
            self._answer_error(None, INVALID_REQUEST, _NOT_AN_OBJECT)
            return
        try:
            self._dispatch(cast("Json", message))
        except Exception:
            logger.exception("A message could not be handled")

    def refuse_frame(self, reason: str) -> None:
        self._answer_error(None, PARSE_ERROR, reason)

    def fail_outgoing(self) -> None:
        """The client is gone: whoever waits for it is told."""
        self._closed = True
        outgoing, self._outgoing = self._outgoing, {}
        for future in outgoing.values():
            if not future.done():
                future.set_exception(ClientGone("The connection to the client has ended."))

    async def request(self, method: str, params: Json, *, limit: float | None) -> Any:
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
                self.notify_raw("$/cancelRequest", {"id": msg_id})

    def notify_raw(self, method: str, params: Json) -> None:
        """A notification whose params are JSON already."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: Id | None = None,
    ) -> ThreadFuture[Any]:
        """pygls' own way to ask, for its builtins; the result is structured and the future always ends."""
        future: ThreadFuture[Any] = ThreadFuture()
        task = asyncio.ensure_future(self.request(method, self._plain(params), limit=60))
        task.add_done_callback(lambda done: self._relay_result(method, done, future, callback))
        return future

    def _relay_result(
        self,
        method: str,
        done: asyncio.Future[Any],
        future: ThreadFuture[Any],
        callback: Callable[[Any], None] | None,
    ) -> None:
        if future.cancelled():
            return
        try:
            result_type = self.get_result_type(method)
            result = done.result()
            if result_type is not None:
                whole = {"id": 0, "jsonrpc": "2.0", "result": result}
                result = self._converter.structure(whole, result_type).result
        except (Exception, asyncio.CancelledError) as error:
            future.set_exception(error)
            return
        future.set_result(result)
        if callback is not None:
            callback(result)

    def _dispatch(self, message: Json) -> None:
        method, has_id = message.get("method"), "id" in message
        msg_id = message.get("id")
        if has_id and method is None and ("result" in message or "error" in message):
            self._take_answer(msg_id, message)
            return
        valid_id = isinstance(msg_id, int | str) and not isinstance(msg_id, bool)
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or (has_id and not valid_id):
            self._answer_error(msg_id if valid_id else None, INVALID_REQUEST, _NOT_A_MESSAGE)
            return
        params = message.get("params")
        if has_id:
            self._take_request(cast("Id", msg_id), method, params, message)
        else:
            self._take_notification(method, params, message)

    def _take_request(self, msg_id: Id, method: str, params: Any, message: Json) -> None:
        refusal = self._refusal(msg_id, method)
        if refusal is not None:
            self._answer_error(msg_id, *refusal)
            return
        if params is not None and not isinstance(params, dict):
            self._answer_error(msg_id, INVALID_PARAMS, f"The params of {method} must be an object.")
            return
        try:
            if method == types.SHUTDOWN:
                self._begin(msg_id, self._shut_down())
            elif self.get_message_type(method) is None:
                self._begin(msg_id, self._call_custom(method, params))
            else:
                self._call_lsp(msg_id, method, message)
        except Exception as error:
            self._answer_fault(msg_id, method, error)

    def _refusal(self, msg_id: Id, method: str) -> tuple[int, str, Json | None] | None:
        if msg_id in self._incoming or msg_id in self._request_futures:
            return INVALID_REQUEST, f"The request id {msg_id!r} is already in use.", None
        if self._shutdown:
            return INVALID_REQUEST, "The server is shutting down.", {"kind": "shuttingDown"}
        if not self.initialized and method != types.INITIALIZE:
            return NOT_INITIALIZED, "Send initialize first.", None
        if self.initialized and method == types.INITIALIZE:
            return INVALID_REQUEST, "initialize was sent already.", None
        return None

    def _take_notification(self, method: str, params: Any, message: Json) -> None:
        if method == types.EXIT:
            self.on_exit(self.exit_code)
        elif method == types.CANCEL_REQUEST:
            if isinstance(params, dict):
                self._cancel(cast("Json", params).get("id"))
        elif not self.initialized or self._shutdown:
            logger.info("Dropped %s, which came outside initialize and shutdown", method)
        elif self.get_message_type(method) is None:
            self._notify_custom(method, params)
        else:
            self._notify_lsp(method, message)

    def _call_custom(self, method: str, params: Any) -> Any:
        handler = self._custom(method)
        if handler is None:
            raise RequestFault(METHOD_NOT_FOUND, f"There is no method {method!r}.")
        return handler(params or {})

    def _notify_custom(self, method: str, params: Any) -> None:
        handler = self._custom(method)
        if handler is not None:
            handler(params or {})

    def _custom(self, method: str) -> Callable[[Json], Any] | None:
        features = cast("dict[str, Callable[[Json], Any]]", self.fm.features)  # pyright: ignore[reportUnknownMemberType]
        return features.get(method)

    def _call_lsp(self, msg_id: Id, method: str, message: Json) -> None:
        if method == types.INITIALIZE:
            self.raw_initialize = message.get("params") or {}
            self.initialized = True
        try:
            request = self._structured(method, message)
        except _UNFIT:
            self.initialized = self.initialized and method != types.INITIALIZE
            raise RequestFault(INVALID_PARAMS, f"The params of {method} do not fit the protocol.") from None
        answer = partial(self._send_handler_result, msg_id=msg_id)
        self._execute_handler(msg_id, self._get_handler(method), answer, (request.params,))

    def _notify_lsp(self, method: str, message: Json) -> None:
        try:
            notification = self._structured(method, message)
        except _UNFIT:
            logger.warning("Dropped a %s whose params do not fit the protocol", method)
            self.on_bad_notification(method, message.get("params"))
            return
        self._handle_notification(method, notification.params)

    def on_bad_notification(self, method: str, params: Any) -> None:
        """A notification that could not be read; for those who must know that they missed one."""

    def _structured(self, method: str, message: Json) -> Any:
        message_type = self.get_message_type(method)
        assert message_type is not None
        return self._converter.structure(message, message_type)

    def _execute_handler(
        self,
        msg_id: Id,
        handler: Callable[..., Any],
        callback: Callable[[Any], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """As pygls does it, without keeping what has ended."""

        def ended(future: Any) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, ended, args, kwargs)

    def _send_handler_result(self, future: Any, *, msg_id: Id) -> None:
        """The answer to an LSP request that pygls dispatched."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._answer_error(msg_id, CANCELLED, "The request was cancelled.")
        elif (error := future.exception()) is not None:
            self._answer_fault(msg_id, "the request", error)
        else:
            self._answer(msg_id, self._plain(future.result()))

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
            self._answer_fault(msg_id, "the request", error)
        else:
            self._answer(msg_id, done.result())

    def _cancel(self, msg_id: Any) -> None:
        if not isinstance(msg_id, int | str):
            return
        if (on_cancel := self._cancels.get(msg_id)) is not None:
            on_cancel()
        elif (future := self._incoming.get(msg_id)) is not None:
            future.cancel()
        elif (lsp_future := self._request_futures.get(msg_id)) is not None:
            lsp_future.cancel()

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

    async def _shut_down(self) -> None:
        self._shutdown = True
        if self.on_shutdown is not None:
            await self.on_shutdown()

    def _answer(self, msg_id: Id, result: Any) -> None:
        try:
            body = encode({"jsonrpc": "2.0", "id": msg_id, "result": result})
        except (TypeError, ValueError):
            logger.exception("A result cannot be put into JSON")
            self._answer_error(msg_id, INTERNAL_ERROR, "The result could not be put into JSON.")
            return
        self.outbox.send(body)

    def _answer_fault(self, msg_id: Id, method: str, error: BaseException) -> None:
        if isinstance(error, RequestFault):
            self._answer_error(msg_id, error.code, str(error), error.data)
        elif isinstance(error, JsonRpcException):
            self._answer_error(msg_id, error.code or INTERNAL_ERROR, error.message or str(error))
        else:
            logger.error("%s failed", method, exc_info=error)
            text = f"{method} failed inside the server: {type(error).__name__}. The log has the details."
            self._answer_error(msg_id, INTERNAL_ERROR, text)

    def _answer_error(self, msg_id: Id | None, code: int, message: str, data: Json | None = None) -> None:
        error: Json = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self._send({"jsonrpc": "2.0", "id": msg_id, "error": error})

    def _send_data(self, data: Any) -> None:
        """Whatever pygls itself sends."""
        self._send(self._plain(data))

    def _plain(self, data: Any) -> Any:
        return self._converter.unstructure(data)

    def _send(self, message: Json) -> None:
        try:
            self.outbox.send(encode(message))
        except (TypeError, ValueError):
            logger.exception("A message cannot be put into JSON")
