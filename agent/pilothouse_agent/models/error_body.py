"""Reads what providers send in place of an answer: JSON of any shape, text, HTML, nothing."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import cast

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.wire_json import decode

__all__ = ["ErrorBody", "read_bytes", "read_value"]

_TEXT_KEYS = ("message", "msg", "error", "detail", "error_description", "errors")
_NESTED_KEYS = ("details", "metadata", "raw", "upstream_error", "previous_errors", "body")
_CODE_KEYS = ("code", "type", "status", "reason", "error_type", "object", "status_code", "statusCode")
_TITLE = re.compile(r"<title[^>]{0,100}>([^<]{1,200})", re.IGNORECASE)
_DEPTH = 8
_SHOWN = 2_000
"""Characters of a provider's text that are kept."""


@dataclass(slots=True)
class ErrorBody:
    texts: list[str] = field(default_factory=list[str])
    """What was said to people, outermost first, each once."""
    codes: list[str] = field(default_factory=list[str])
    """Typed words (code, type, status, reason), lower case, outermost first."""
    status: int | None = None
    """A status between 400 and 599 that stands as a code in the body."""
    delay: str | None = None
    """A duration to wait, as its details say it."""
    request_id: str | None = None
    parsed: bool = False
    """Whether it was JSON."""

    @property
    def text(self) -> str:
        """The texts as one line, short enough to show."""
        return " ".join(": ".join(self.texts[:3]).split())[:_SHOWN]


def read_bytes(data: bytes) -> ErrorBody:
    try:
        return read_value(decode(data.removeprefix(b"\xef\xbb\xbf")))
    except ValueError:
        return ErrorBody(texts=[text] if (text := _plain(data)) else [])


def read_value(value: JsonValue) -> ErrorBody:
    body = ErrorBody(parsed=True)
    _visit(body, value, _DEPTH)
    return body


def _plain(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.strip()
    if not text.startswith("<"):
        return text[:_SHOWN]
    title = _TITLE.search(text)
    named = f" titled “{html.unescape(title[1]).strip()}”" if title else ""
    return f"a text/html page{named} instead of an answer"


def _visit(body: ErrorBody, value: JsonValue, depth: int) -> None:
    if depth == 0:
        return
    if isinstance(value, str):
        _visit_text(body, value, depth)
    elif isinstance(value, list):
        for item in value[:20]:
            _visit(body, item, depth - 1)
    elif isinstance(value, dict):
        _visit_object(body, value, depth)


def _visit_object(body: ErrorBody, value: JsonObject, depth: int) -> None:
    for key in _CODE_KEYS:
        _note_code(body, value.get(key))
    for key in ("request_id", "requestId"):
        if isinstance(identity := value.get(key), str):
            body.request_id = body.request_id or identity
    if isinstance(delay := value.get("retryDelay"), str):
        body.delay = body.delay or delay
    if isinstance(place := value.get("loc"), list) and isinstance(said := value.get("msg"), str):
        body.texts.append(f"{'.'.join(str(part) for part in place)}: {said}")
        return
    for key in (*_TEXT_KEYS, *_NESTED_KEYS):
        if key in value:
            _visit(body, value[key], depth - 1)


def _visit_text(body: ErrorBody, text: str, depth: int) -> None:
    """A text may itself be, or hold, the JSON of a provider further up."""
    start = text.find("{")
    nested: JsonValue = None
    if start >= 0:
        try:
            nested = decode(text[start:].encode("utf-8", "replace"))
        except ValueError:
            start = -1
    if start != 0 and (said := text.strip()) and said not in body.texts:
        body.texts.append(said)
    if isinstance(nested, dict):
        inner = body if start == 0 else ErrorBody()
        _visit(inner, cast("JsonObject", nested), depth - 1)
        body.codes.extend(code for code in inner.codes if code not in body.codes)
        body.delay = body.delay or inner.delay


def _note_code(body: ErrorBody, code: JsonValue) -> None:
    if isinstance(code, bool) or not isinstance(code, str | int):
        return
    word = str(code).strip().lower()[:200]
    if word.isascii() and word.isdigit() and len(word) == 3 and word[0] in "45":
        body.status = body.status or int(word)
    elif word and word not in body.codes:
        body.codes.append(word)
