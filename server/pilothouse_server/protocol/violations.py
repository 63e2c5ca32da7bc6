"""Params made into the models of the protocol; what does not fit is said as a JSON-RPC error."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from pilothouse_server.protocol.models import Wire
from pilothouse_server.wire.faults import INVALID_PARAMS, RequestFault

__all__ = ["validated"]

W = TypeVar("W", bound=Wire)


def validated(model: type[W], params: dict[str, Any], method: str) -> W:
    """Raises a fault with the violations."""
    try:
        return model.model_validate(params, by_alias=True, by_name=False)
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
