"""pygls as the part for LSP: its registry, features and types, without its transport and documents."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from typing import Any, TypeAlias

from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

from pilothouse_server.transport.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RequestFault,
    Rpc,
)

__all__ = ["LspSide"]

logger = logging.getLogger(__name__)

Id: TypeAlias = int | str
Json: TypeAlias = dict[str, Any]

_UNFIT = (BaseValidationError, AttributeError, KeyError, TypeError, ValueError)
"""What the converter raises for params that do not fit."""
_CLIENT_LIMIT = 60
"""Seconds a client has for the requests of pygls' own features."""


class _Protocol(LanguageServerProtocol):
    """pygls' protocol with everything that reads, writes or answers taken out of it."""

    rpc: Rpc

    def plain(self, data: Any) -> Any:
        """LSP objects as JSON values."""
        return self._converter.unstructure(data)

    def structured(self, method: str, params: Json) -> Any:
        """The typed params. Raises a fault when they do not fit."""
        message_type = self.get_message_type(method)
        if message_type is None:
            raise RequestFault(METHOD_NOT_FOUND, f"There is no method {method!r}.")
        message = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}
        try:
            return self._converter.structure(message, message_type).params
        except _UNFIT:
            raise RequestFault(INVALID_PARAMS, f"The params of {method} do not fit the protocol.") from None

    def run(self, method: str, params: Any) -> asyncio.Future[Any]:
        """Start the handlers of a method; the future ends with what they give, as JSON values."""
        ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        handler = self._get_handler(method)
        msg_id = f"lsp-{id(ended)}"
        self._execute_handler(msg_id, handler, lambda done: self._settle(done, ended), (params,))
        ended.add_done_callback(lambda _: self._forget(msg_id, ended))
        return ended

    def _settle(self, done: Any, ended: asyncio.Future[Any]) -> None:
        if ended.done():
            return
        if done.cancelled():
            ended.cancel()
        elif (error := done.exception()) is not None:
            ended.set_exception(_fault(error))
        else:
            ended.set_result(self.plain(done.result()))

    def _forget(self, msg_id: str, ended: asyncio.Future[Any]) -> None:
        running = self._request_futures.pop(msg_id, None)
        if running is not None and ended.cancelled():
            running.cancel()

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

    def notify(self, method: str, params: Any | None = None) -> None:
        self.rpc.notify(method, self.plain(params))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: Id | None = None,
    ) -> ThreadFuture[Any]:
        """The result is structured; the future ends whatever the client does."""
        future: ThreadFuture[Any] = ThreadFuture()
        asking = asyncio.ensure_future(self.rpc.request(method, self.plain(params), limit=_CLIENT_LIMIT))
        asking.add_done_callback(lambda done: self._relay(method, done, future, callback))
        future.add_done_callback(lambda done: done.cancelled() and asking.cancel())
        return future

    def _relay(
        self,
        method: str,
        done: asyncio.Future[Any],
        future: ThreadFuture[Any],
        callback: Callable[[Any], None] | None,
    ) -> None:
        if future.cancelled():
            return
        try:
            result = self._structured_result(method, done.result())
        except (Exception, asyncio.CancelledError) as error:
            future.set_exception(error)
            return
        future.set_result(result)
        if callback is not None:
            callback(result)

    def _structured_result(self, method: str, result: Any) -> Any:
        result_type = self.get_result_type(method)
        if result_type is None:
            return result
        whole = {"jsonrpc": "2.0", "id": 0, "result": result}
        return self._converter.structure(whole, result_type).result


class LspSide:
    """The part that LSP messages are for. `initialize` is given to it after the client has its answer."""

    def __init__(self, rpc: Rpc, version: str) -> None:
        self.server = LanguageServer(  # pyright: ignore[reportUnknownMemberType]
            "pilothouse", version, protocol_cls=_Protocol, converter_factory=default_converter
        )
        protocol = self.server.protocol
        assert isinstance(protocol, _Protocol)
        protocol.rpc = rpc
        self._protocol = protocol

    def initialize(self, params: Json) -> asyncio.Future[Any]:
        """Give pygls the client's `initialize`; its answer is for tests, the client has had ours."""
        return self._protocol.run(types.INITIALIZE, self._protocol.structured(types.INITIALIZE, params))

    def request(self, method: str, params: Json) -> Any:
        typed = self._protocol.structured(method, params)
        try:
            return self._protocol.run(method, typed)
        except JsonRpcException as error:
            raise _fault(error) from None

    def notification(self, method: str, params: Json) -> None:
        try:
            running: asyncio.Future[Any] = self.request(method, params)
        except RequestFault as error:
            logger.warning("Dropped the notification %s: %s", method, error)
            return
        running.add_done_callback(lambda done: _log_failure(method, done))


def _fault(error: BaseException) -> BaseException:
    if isinstance(error, JsonRpcException):
        return RequestFault(error.code or INTERNAL_ERROR, error.message or str(error))
    return error


def _log_failure(method: str, done: asyncio.Future[Any]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.error("The notification %s failed", method, exc_info=error)
