"""pygls' protocol class over our own connection: its feature manager is where methods and commands are."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future as ThreadFuture
from typing import Any, TypeAlias, cast, get_type_hints

import attrs
from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, default_converter

from pilothouse_server.protocol.models import Wire
from pilothouse_server.protocol.violations import validated
from pilothouse_server.transport.rpc import Rpc, Waiting
from pilothouse_server.wire.faults import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RequestFault
from pilothouse_server.wire.json_object import Json

__all__ = ["FeatureProtocol", "converter"]

logger = logging.getLogger(__name__)

Id: TypeAlias = int | str
Handler: TypeAlias = Callable[[Any], Any]

_UNFIT = (BaseValidationError, AttributeError, KeyError, TypeError, ValueError)
"""What the converter raises for params that do not fit."""
_CLIENT_LIMIT = 60
"""Seconds a client has for what pygls' own functions ask it."""
# Made where the module is imported, in a thread: it takes as long as a whole turn of a run.
_CONVERTER = default_converter()


def converter() -> Any:
    """The one that all servers of this process share."""
    return _CONVERTER


class FeatureProtocol(LanguageServerProtocol):
    """Nothing is read, written or answered by pygls, and its builtin features are not called.

    A feature or command is given what the annotation of its argument says: one of our models, a type of
    lsprotocol, which is also what it is given when it says nothing, or else the JSON object as it came.
    It is called where its frame is read, so that requests are admitted in the order of their arrival; it
    gives its result, an awaitable of it, or `Waiting`. The result may be of any of the three kinds as well.
    """

    rpc: Rpc

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        self._takers: dict[str, Handler] = {}
        self._running: set[asyncio.Future[Any]] = set()

    def request(self, method: str, params: Json) -> Any:
        """Call a feature; its answer as JSON values, an awaitable of it, or `Waiting`. Raises a fault."""
        features = cast("Mapping[str, Handler]", self.fm.features)  # pyright: ignore[reportUnknownMemberType]
        return self._called(method, features.get(method), params)

    def command(self, name: str, arguments: Json) -> Any:
        """The same with a command."""
        commands = cast("Mapping[str, Handler]", self.fm.commands)  # pyright: ignore[reportUnknownMemberType]
        return self._called(name, commands.get(name), arguments)

    def notification(self, method: str, params: Json) -> None:
        try:
            outcome = self.request(method, params)
        except RequestFault as error:
            logger.warning("Dropped the notification %s: %s", method, error)
            return
        if inspect.isawaitable(outcome):
            running = asyncio.ensure_future(outcome)
            self._running.add(running)
            running.add_done_callback(lambda done: self._heard(method, done))

    def _heard(self, method: str, done: asyncio.Future[Any]) -> None:
        self._running.discard(done)
        if not done.cancelled() and (error := done.exception()) is not None:
            logger.error("The notification %s failed", method, exc_info=error)

    def _called(self, name: str, handler: Handler | None, params: Json) -> Any:
        if handler is None:
            raise RequestFault(METHOD_NOT_FOUND, f"There is no request {name!r}.")
        if name not in self._takers:
            self._takers[name] = self._taker(name, handler)
        try:
            outcome = handler(self._takers[name](params))
        except JsonRpcException as error:
            raise _fault(error) from None
        if isinstance(outcome, Waiting):
            return Waiting(self._answer(outcome.answer), outcome.on_cancel)
        return self._answer(outcome) if inspect.isawaitable(outcome) else self._plain(outcome)

    def _taker(self, name: str, handler: Handler) -> Handler:
        """What makes the params into what the handler wants."""
        kind = _wanted(handler) or _usual(name)
        if isinstance(kind, type) and issubclass(kind, Wire):
            model: type[Wire] = kind
            return lambda params: validated(model, params, name)
        if isinstance(kind, type) and attrs.has(cast("type[Any]", kind)):
            return lambda params: self.structured(kind, params, name)
        return lambda params: params

    def structured(self, kind: type[Any], params: Json, name: str) -> Any:
        """A value of lsprotocol. Raises a fault that names the method."""
        try:
            return self._converter.structure(params, kind)
        except _UNFIT:
            text = f"The params of {name} do not fit the protocol."
            raise RequestFault(INVALID_PARAMS, text) from None

    async def _answer(self, answer: Awaitable[Any]) -> Any:
        try:
            return self._plain(await answer)
        except JsonRpcException as error:
            raise _fault(error) from None

    def _plain(self, result: Any) -> Any:
        """As JSON values."""
        if isinstance(result, Wire):
            return result.to_wire()
        return cast("Json", result) if isinstance(result, dict) else self._converter.unstructure(result)

    def notify(self, method: str, params: Any | None = None) -> None:
        self.rpc.notify(method, self._plain(params))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: Id | None = None,
    ) -> ThreadFuture[Any]:
        """The result is structured; the future ends whatever the client does."""
        future: ThreadFuture[Any] = ThreadFuture()
        asking = asyncio.ensure_future(self.rpc.request(method, self._plain(params), limit=_CLIENT_LIMIT))
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


def _wanted(handler: Handler) -> object:
    """The annotation of the last argument: before it there is only the server, which pygls binds."""
    function: Handler = getattr(handler, "func", handler)
    return get_type_hints(function).get(list(inspect.signature(function).parameters)[-1])


def _usual(method: str) -> object:
    """The type of a method's params in LSP."""
    kinds: tuple[object, ...] = types.METHOD_TO_TYPES.get(method, (None, None, None))
    return kinds[2]


def _fault(error: JsonRpcException) -> RequestFault:
    return RequestFault(error.code or INTERNAL_ERROR, error.message or str(error))
