"""Reads what providers send in place of an answer: JSON of any shape, text, HTML, nothing."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.http.retry_after import stated_delay
from pilothouse_agent.models.wire_json import decode

__all__ = ["ErrorBody", "plain_code", "read_bytes", "read_value"]

_TEXT_KEYS = (
    *("message", "Message", "msg", "error", "detail", "error_description", "errors"),
    *("error_message", "errorMessage", "error_msg", "status_msg", "statusMessage", "description", "title"),
)
_NESTED_KEYS = (
    *("details", "metadata", "raw", "upstream_error", "previous_errors", "body", "innererror"),
    *("inner_error", "cause", "response", "data", "result"),
)
_CODE_KEYS = (
    *("code", "type", "status", "reason", "error_type", "object", "status_code", "statusCode"),
    *("error_code", "errorCode", "__type", "http_code"),
)
_PAGE = re.compile(r"<(?:!doctype|\?xml|html|head|body|title|center|h1|p|div)\b", re.IGNORECASE)
_FRAME = re.compile(r"(?:data|event|id|retry) *:")
_ENDING = re.compile(r"(?<=.)(?:error|exception)$")
_TITLE = re.compile(r"<title[^>]{0,100}>([^<]+)", re.IGNORECASE)
_DEPTH = 8
_KEPT = 8_000
_DECODER = json.JSONDecoder(strict=False)


@dataclass(slots=True)
class ErrorBody:
    texts: list[str] = field(default_factory=list[str])
    """What was said to people, outermost first, each once."""
    codes: list[str] = field(default_factory=list[str])
    """Typed words (code, type, status, reason), each as `plain_code` has it, outermost first."""
    status: int | None = None
    """A status between 400 and 599 that stands as a code in the body."""
    delay: float | None = None
    """Seconds to wait, as its details say it."""
    request_id: str | None = None

    @property
    def text(self) -> str:
        """The texts as one line. Secrets are struck out before it is cut: half a key would not be found."""
        return " ".join(": ".join(self.texts[:3]).split())


def read_bytes(data: bytes) -> ErrorBody:
    try:
        return read_value(decode(data.removeprefix(b"\xef\xbb\xbf")))
    except ValueError:
        return read_value(_unframed(_decoded(data)))


def read_value(value: JsonValue) -> ErrorBody:
    body = ErrorBody()
    _visit(body, value, _DEPTH)
    if not body.texts:
        body.texts.extend(list(_leaves(value, _DEPTH))[:5])
    return body


def plain_code(code: str) -> str:
    """The same for `RateLimitError`, `rate_limit_error` and `com.example#RATE_LIMIT`: `ratelimit`."""
    word = "".join(filter(str.isalnum, code.rpartition("#")[2].lower()))
    return _ENDING.sub("", word)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _unframed(text: str) -> str:
    """Without what makes events of it, if every line is of an event."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not all(map(_FRAME.match, lines)):
        return text
    data = [line.partition(":")[2].strip() for line in lines if line.startswith("data")]
    return "\n".join(line for line in data if line != "[DONE]")


def _without_markup(text: str) -> str:
    """No page is shown as it is."""
    if not _PAGE.match(text):
        return text
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
    if body.delay is None:
        body.delay = stated_delay(value)
    if isinstance(place := value.get("loc"), list) and isinstance(said := value.get("msg"), str):
        body.texts.append(f"{'.'.join(str(part) for part in place)}: {said}")
        return
    for key in (*_TEXT_KEYS, *_NESTED_KEYS):
        if key in value:
            _visit(body, value[key], depth - 1)


def _visit_text(body: ErrorBody, text: str, depth: int) -> None:
    """A text may itself be, or hold, the JSON of a provider further up."""
    text = _without_markup(text.strip())
    start = text.find("{")
    nested = _first_object(text, start) if start >= 0 else None
    if nested is not None and start == 0:
        _visit(body, nested, depth - 1)
        return
    if text and text not in body.texts:
        body.texts.append(text[:_KEPT])
    if nested is not None:
        inner = ErrorBody()
        _visit(inner, nested, depth - 1)
        body.codes.extend(code for code in inner.codes if code not in body.codes)
        body.delay = inner.delay if body.delay is None else body.delay


def _first_object(text: str, start: int) -> JsonObject | None:
    """More may stand behind it: who passed it on has a word to say too."""
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _leaves(value: JsonValue, depth: int) -> Iterator[str]:
    """All texts, of a body that calls them by names nobody knows."""
    if isinstance(value, str):
        if said := _without_markup(value.strip()):
            yield said[:_KEPT]
    elif isinstance(value, list | dict) and depth:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item, depth - 1)


def _note_code(body: ErrorBody, code: JsonValue) -> None:
    if isinstance(code, bool) or not isinstance(code, str | int):
        return
    word = plain_code(str(code)[:200])
    if word.isascii() and word.isdigit() and len(word) == 3 and word[0] in "45":
        body.status = body.status or int(word)
    elif word and word not in body.codes:
        body.codes.append(word)
