"""How long a provider asks us to wait: said in headers, in the body's details, or only in its text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["duration", "retry_after"]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AMOUNT = re.compile(
    r"(\d{1,9}(?:\.\d{1,12})?)\s*"
    r"(?:(ms|millis(?:econds?)?)|(s|secs?|seconds?)|(m|mins?|minutes?)|(h|hours?)|(d|days?))(?![a-z])"
)
_HINT = re.compile(r"\b(?:try again|retry|wait)\b[a-z: ]{0,20}?(?=\d)", re.IGNORECASE)
_SEARCHED = 4_000
"""Characters of the text that are looked at."""


def retry_after(
    headers: Mapping[str, str], *, detail: str | None, text: str, now: datetime | None = None
) -> float | None:
    """Seconds to wait, never negative; None when nothing usable was said.

    Header names are lower case. The millisecond header comes before seconds or a date, these before
    the duration in the body's details, and the text last.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = _header(headers.get("retry-after"), now or datetime.now(UTC))
    if stated is not None:
        return stated
    return (duration(detail) if detail else None) or _in_text(text)


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
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


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
