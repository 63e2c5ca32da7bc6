"""The answers to requests that cannot be carried out."""

from __future__ import annotations

from pilothouse_server.protocol import models as protocol
from pilothouse_server.transport.rpc import INVALID_PARAMS, RequestFault

__all__ = ["fault", "invalid"]


def fault(kind: protocol.ErrorKindCode, message: str) -> RequestFault:
    return RequestFault(kind.code, message, {"kind": kind.kind})


def invalid(path: str, message: str) -> RequestFault:
    """`path` names the field of the params."""
    violation = {"path": path, "message": message}
    return RequestFault(INVALID_PARAMS, f"{path}: {message}", {"violations": [violation]})
