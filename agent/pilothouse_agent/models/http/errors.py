"""From a provider's failure to an `ErrorInfo`.

The kinds are those of `kernel.messages.ErrorKind`. Judged in this order: a typed code that is exact,
then the status, then a broad code, and last the wording, which may only refine what is left open.
Nothing is read out of digits in texts, so a 429 inside an id is no rate limit. Keys are struck out of
every message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.kernel.messages import ErrorInfo, ErrorKind, RefusedBlock
from pilothouse_agent.models.history.image_refusals import names_an_image
from pilothouse_agent.models.http.error_body import ErrorBody, read_bytes, read_value
from pilothouse_agent.models.http.error_table import (
    ADVICE,
    BROAD_CODES,
    CODES,
    FINAL,
    RETRYABLE,
    STATUSES,
    WORDINGS,
)
from pilothouse_agent.models.http.retry_after import retry_after
from pilothouse_agent.models.wire_json import well_formed

__all__ = ["Source", "http_error", "own_error", "request_id_of", "stream_error"]

_SECRET_SHAPES = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|pplx|hf|nvapi|r8)[-_]|AIza)[\w*-]{12,}|(?<=Bearer )[^\s\"',;]{8,}"
)
_STRUCK = "[key]"
_SHORTEST_SECRET = 6
"""Shorter keys are placeholders of local servers; striking them out would garble the text."""
_SEARCHED = 8_000
"""Characters of a provider's text that the wordings are looked for in."""
_SHOWN = 2_000
"""Characters of a provider's text that are shown."""
_ID_SHOWN = 100
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REQUEST_ID_HEADERS = ("x-request-id", "request-id")


@dataclass(frozen=True, slots=True)
class Source:
    """Who failed, as messages name it."""

    name: str
    key_name: str = ""
    """The variable its key comes from."""
    secrets: tuple[str, ...] = ()
    address_name: str = ""
    """What names its address: a variable or a setting."""
    start: str = ""
    """The command that starts it, if it is a server for the user's own machine."""
    elsewhere: str = ""
    """What to use in its place at a server that does not know its path, as a sentence."""
    request_id: str | None = None
    """Of the request that is being answered, for failures that name none themselves."""

    def redacted(self, text: str) -> str:
        """Without keys, what steers a terminal, and the halves of characters that no wire can hold."""
        text = _UNPRINTABLE.sub("\ufffd", well_formed(text))
        for secret in self.secrets:
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, _STRUCK)
        return _SECRET_SHAPES.sub(_STRUCK, text)

    def quoted(self, text: str) -> str:
        """What a provider has said, redacted and short enough to show."""
        return self.redacted(text)[:_SHOWN]

    def request(self, request_id: str | None = None) -> str:
        """As it follows a sentence."""
        request_id = self.redacted(request_id or self.request_id or "")[:_ID_SHOWN]
        return f" (request {request_id})" if request_id else ""


def http_error(
    source: Source, status: int, headers: Mapping[str, str], body: bytes, *, now: datetime | None = None
) -> ErrorInfo:
    """An answer whose status is not 2xx. Names of headers in lower case; `now` measures a date in them."""
    content = read_bytes(body)
    waiting = retry_after(headers, detail=content.delay, text=content.text, now=now)
    kind = _kind(content, status, waits=waiting is not None)
    retryable = _retryable(kind, headers.get("x-should-retry", "").strip().lower())
    message = _message(
        source, f"answered {status}", content.text, kind, request_id_of(headers) or content.request_id
    )
    return ErrorInfo(
        kind, message, retryable, status, waiting if retryable else None, _refused(kind, content.text)
    )


def stream_error(source: Source, value: JsonValue) -> ErrorInfo:
    """An error inside an answer that began well: any JSON value, or plain text."""
    content = read_value(value)
    waiting = retry_after({}, detail=content.delay, text=content.text)
    kind = _kind(content, content.status, waits=waiting is not None)
    retryable = kind in RETRYABLE
    message = _message(source, "reported an error", content.text, kind, content.request_id)
    return ErrorInfo(
        kind, message, retryable, content.status, waiting if retryable else None, _refused(kind, content.text)
    )


def own_error(source: Source, kind: ErrorKind, text: str, *, retryable: bool | None = None) -> ErrorInfo:
    """A failure that we noticed ourselves; `text` is a whole sentence."""
    message = source.redacted(text + source.request())
    return ErrorInfo(kind, message, kind in RETRYABLE if retryable is None else retryable)


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """By which the provider can find a request; names of headers in lower case."""
    return next((headers[name] for name in _REQUEST_ID_HEADERS if headers.get(name)), None)


def _kind(body: ErrorBody, status: int | None, *, waits: bool) -> ErrorKind:
    kind = _by_status_and_code(body, status)
    kinds = {kind, "unknown"} if status is None and kind == "serverError" else {kind}
    text = "\n".join(body.texts)[:_SEARCHED]
    for wording in WORDINGS:
        # A quota that comes back within a stated time is a rate limit.
        if waits and kind == "rateLimit" and wording.may_pass:
            continue
        if not kinds.isdisjoint(wording.refines) and wording.pattern.search(text):
            return wording.kind
    return kind


def _refused(kind: ErrorKind, text: str) -> RefusedBlock | None:
    return RefusedBlock() if names_an_image(kind, text) else None


def _by_status_and_code(body: ErrorBody, status: int | None) -> ErrorKind:
    if status in (401, 402, 413):
        return STATUSES[status]
    for code in body.codes:
        if code in CODES:
            return CODES[code]
    if status is not None and status in STATUSES:
        return STATUSES[status]
    if status is not None and status >= 300:
        return _by_class(status)
    for code in body.codes:
        if code in BROAD_CODES:
            return BROAD_CODES[code]
    return "serverError"


def _by_class(status: int) -> ErrorKind:
    if status < 400:
        return "badResponse"
    return "invalidRequest" if status < 500 else "serverError"


def _retryable(kind: ErrorKind, should_retry: str) -> bool:
    if should_retry == "false" or kind in FINAL:
        return False
    return should_retry == "true" or kind in RETRYABLE


def _message(source: Source, what: str, text: str, kind: ErrorKind, request_id: str | None) -> str:
    said = f"{source.name} {what}" + (f": {source.quoted(text)}" if text else "")
    said += "" if said.endswith((".", "!", "?")) else "."
    key = f" in {source.key_name}" if source.key_name else ""
    advice = f" {ADVICE[kind].format(key=key)}" if kind in ADVICE else ""
    if kind == "notFound" and source.elsewhere:
        advice += f" {source.elsewhere}"
    return source.redacted(f"{said}{advice}{source.request(request_id)}")
