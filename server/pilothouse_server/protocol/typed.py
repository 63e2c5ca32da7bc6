"""Methods as typed functions: params validated, faults as JSON-RPC errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError

from pilothouse_server.protocol.models import Wire
from pilothouse_server.transport.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, RequestFault, Waiting

__all__ = ["Methods"]

P = TypeVar("P", bound=Wire)
Outcome: TypeAlias = "Wire | Awaitable[Wire] | Waiting"


class Methods:
    """A part of the server made of typed functions."""

    def __init__(self) -> None:
        self._handlers: dict[str, Callable[[Any], Any]] = {}

    def typed(self, method: str, params: type[P]) -> Callable[[Callable[[P], Outcome]], None]:
        """Register a function of validated params. It admits the request in one synchronous step and
        returns the result, an awaitable of it, or `Waiting`."""

        def register(handler: Callable[[P], Outcome]) -> None:
            self._handlers[method] = lambda raw: _to_wire(handler(_validated(params, raw, method)))

        return register

    def plain(self, method: str, handler: Callable[[dict[str, Any]], Any]) -> None:
        """Register a function of a request's params as they came. It returns JSON values, an awaitable
        of them, or `Waiting`."""
        self._handlers[method] = handler

    def heard(self, method: str) -> Callable[[Callable[[dict[str, Any]], None]], None]:
        """Register a function of a notification's params as they came."""

        def register(handler: Callable[[dict[str, Any]], None]) -> None:
            self._handlers[method] = handler

        return register

    def request(self, method: str, params: dict[str, Any]) -> Any:
        handler = self._handlers.get(method)
        if handler is None:
            raise RequestFault(METHOD_NOT_FOUND, f"There is no method {method!r}.")
        return handler(params)

    def notification(self, method: str, params: dict[str, Any]) -> None:
        handler = self._handlers.get(method)
        if handler is not None:
            handler(params)


def _validated(model: type[P], raw: Any, method: str) -> P:
    try:
        return model.model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        violations = [
            {"path": ".".join(str(part) for part in item["loc"]), "message": _said(item["msg"])}
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        listed = "; ".join(f"{v['path'] or 'params'}: {v['message']}" for v in violations)
        text = f"The params of {method} do not fit: {listed}"
        raise RequestFault(INVALID_PARAMS, text, {"violations": violations}) from None


def _said(message: str) -> str:
    """Without the mark of a check of our own."""
    return message.removeprefix("Value error, ")


def _to_wire(outcome: Outcome) -> Any:
    if isinstance(outcome, Wire):
        return outcome.to_wire()
    if isinstance(outcome, Waiting):
        return Waiting(_awaited(outcome.answer), outcome.on_cancel)
    return _awaited(outcome)


async def _awaited(answer: Awaitable[Wire]) -> Any:
    return (await answer).to_wire()
