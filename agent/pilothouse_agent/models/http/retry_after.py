"""How long a provider asks us to wait: said in headers, in the body's details, or only in its text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["duration", "retry_after", "stated_delay"]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AMOUNT = re.compile(
    r"(\d{1,9}(?:\.\d{1,12})?)\s*"
    r"(?:(ms|millis(?:econds?)?)|(s|secs?|seconds?)|(m|mins?|minutes?)|(h|hours?)|(d|days?))(?![a-z])"
)
_HINT = re.compile(r"\b(?:try again|retry|wait|resets?)\b[a-z: ]{0,40}?(?=\d)", re.IGNORECASE)
_FIELDS = {
    **dict.fromkeys(("retryDelay", "retry_delay", "retry_after", "retryAfter", "retry_after_seconds"), 1.0),
    **dict.fromkeys(("retry_after_ms", "retryAfterMs"), 0.001),
}
"""What error bodies call the time to wait, and the seconds that one of it is."""
_EPOCH = 1_000_000_000
"""A number of seconds as large as this is a moment."""
_SEARCHED = 4_000
"""Characters of the text that are looked at."""


def retry_after(
    headers: Mapping[str, str], *, detail: float | None, text: str, now: datetime | None = None
) -> float | None:
    """Seconds to wait, never negative; None when nothing usable was said.

    Header names are lower case; `detail`: the seconds that the body states in a field. The millisecond
    header comes before seconds or a date, these before the body's field, and the text last.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = _header(headers.get("retry-after"), now or datetime.now(UTC))
    if stated is not None:
        return stated
    return _in_text(text) if detail is None else detail


def stated_delay(details: JsonObject) -> float | None:
    """Seconds to wait that an object in an error body states in a field of its own."""
    found = (_seconds(details[name], unit) for name, unit in _FIELDS.items() if name in details)
    return next((seconds for seconds in found if seconds is not None), None)


def duration(text: str) -> float | None:
    """Seconds of `1h4m0.5s`, `93ms` or `26 seconds` at the start of the text."""
    position, total, found = 0, 0.0, False
    while match := _AMOUNT.match(text.lower(), position):
        unit = next(unit for unit, group in zip(_UNITS, match.groups()[1:], strict=True) if group)
        total += float(match[1]) * _UNITS[unit]
        position, found = match.end(), True
        position += len(text[position:]) - len(text[position:].lstrip())
    return total if found else None


def _header(value: str | None, now: datetime) -> float | None:
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds if seconds < _EPOCH else max(0.0, seconds - now.timestamp())
    moment = _moment(value)
    if moment is None:
        return duration(value)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _moment(value: str) -> datetime | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return read(value)
        except (ValueError, OverflowError):
            continue
    return None


def _seconds(value: JsonValue, unit: float) -> float | None:
    if isinstance(value, dict):
        whole, parts = value.get("seconds"), value.get("nanos")
        seconds = _number(str(whole)) if whole is not None else 0.0
        return None if seconds is None else seconds + (parts / 1e9 if isinstance(parts, int) else 0.0)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    number = _number(str(value))
    return duration(str(value)) if number is None else number * unit


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _in_text(text: str) -> float | None:
    for hint in _HINT.finditer(text[:_SEARCHED]):
        seconds = duration(text[hint.end() : hint.end() + 40])
        if seconds is not None:
            return seconds
    return None
