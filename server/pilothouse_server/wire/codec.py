"""JSON on the wire: quick for what is usual, and right for what is not."""

from __future__ import annotations

import json
from typing import Any

import orjson

__all__ = ["decode", "encode"]


def decode(body: bytes) -> Any:
    """Raises ValueError for what is not JSON. Lone surrogates become U+FFFD."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if b"\\u" not in body:
            raise
    # Only the surrogate halves that orjson refuses are worth a second, slower look.
    try:
        return _mended(json.loads(body.decode("utf-8"), parse_constant=_refuse))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def encode(message: Any) -> bytes:
    """Raises TypeError or ValueError for what JSON cannot hold. Lone surrogates become U+FFFD."""
    try:
        return orjson.dumps(message)
    except TypeError:
        pass
    # Surrogate halves, integers over 64 bits, or more than 254 levels; anything else raises again here.
    try:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return _well_formed(text).encode("utf-8")


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _well_formed(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def _well_formed(text: str) -> str:
    """Joins the halves of surrogate pairs; a half without its other one becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
