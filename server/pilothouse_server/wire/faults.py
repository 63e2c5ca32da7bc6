"""Errors on the wire: JSON-RPC's codes, and what a handler or a caller of the client raises."""

from __future__ import annotations

from typing import Any

__all__ = [
    "CANCELLED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOT_INITIALIZED",
    "PARSE_ERROR",
    "REQUEST_FAILED",
    "SERVER_CANCELLED",
    "SHUTTING_DOWN",
    "ClientGone",
    "RequestFault",
]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
SHUTTING_DOWN = -31008
NOT_INITIALIZED, CANCELLED, SERVER_CANCELLED, REQUEST_FAILED = -32002, -32800, -32802, -32803


class RequestFault(Exception):
    """Answers a request with an error; or the client's error answer to a request of ours."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ClientGone(Exception):
    """The connection ended while the client was being asked."""
