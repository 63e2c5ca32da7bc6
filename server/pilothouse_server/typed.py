"""Requests as typed functions: params validated, faults as JSON-RPC errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import ValidationError
from pygls.lsp.server import LanguageServer

from pilothouse_server.protocol import Wire
from pilothouse_server.transport.rpc import INVALID_PARAMS, RequestFault, Waiting

__all__ = ["typed"]

P = TypeVar("P", bound=Wire)
Handler = Callable[[P], Any]


def typed(
    server: LanguageServer, method: str, params: type[P]
) -> Callable[[Callable[[P], Wire | Awaitable[Wire] | Waiting]], None]:
    """Register a function of validated params; it admits the request synchronously and returns the
    result, an awaitable of it, or `Waiting`."""

    def register(handler: Callable[[P], Wire | Awaitable[Wire] | Waiting]) -> None:
        def feature(raw: Any) -> Any:
            outcome = handler(_validated(params, raw, method))
            if isinstance(outcome, Wire):
                return outcome.to_wire()
            if isinstance(outcome, Waiting):
                return Waiting(_to_wire(outcome.answer), outcome.on_cancel)
            return _to_wire(outcome)

        server.feature(method)(feature)

    return register


def _validated(model: type[P], raw: Any, method: str) -> P:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        violations = [
            {"path": ".".join(str(part) for part in item["loc"]), "message": item["msg"]}
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        listed = "; ".join(f"{v['path'] or 'params'}: {v['message']}" for v in violations)
        text = f"The params of {method} do not fit: {listed}"
        raise RequestFault(INVALID_PARAMS, text, {"violations": violations}) from None


async def _to_wire(answer: Awaitable[Wire]) -> Any:
    return (await answer).to_wire()
