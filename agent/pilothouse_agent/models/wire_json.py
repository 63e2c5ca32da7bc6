"""JSON to and from providers, where the plain library stumbles: surrogates, huge and non-finite numbers."""

from __future__ import annotations

import json
import math
from typing import cast

import orjson

from pilothouse_agent.kernel.json_types import JsonValue

__all__ = ["decode", "encode", "mended", "packed", "well_formed"]


def encode(value: JsonValue) -> bytes:
    """Compact UTF-8; surrogates are mended, numbers that JSON cannot hold become null.

    Raises `ValueError` for what is nested too deeply.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        pass
    try:
        text = json.dumps(mended(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return text.encode("utf-8")


def packed(value: JsonValue) -> bytes:
    """The same in no more memory than it needs, for what is kept: the encoder leaves some KiB behind each."""
    return bytes(memoryview(encode(value)))


def decode(data: bytes) -> JsonValue:
    """Raises `ValueError`. The strings of a doubtful document may hold surrogates: see `well_formed`."""
    try:
        return cast("JsonValue", orjson.loads(data))
    except ValueError:
        pass
    try:
        return cast("JsonValue", json.loads(data.decode("utf-8", "replace"), strict=False))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def well_formed(text: str) -> str:
    """Joins the halves of surrogate pairs; a half without its other one becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def mended(value: JsonValue) -> JsonValue:
    """The value with well-formed strings and finite numbers only."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): mended(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
