"""How much room a server says it has for an answer, when it refuses a request that asks for more."""

from __future__ import annotations

import re

__all__ = ["room_left"]

_WINDOW = re.compile(r"(?:context|model) (?:length|window|limit)\D{0,20}(\d[\d,]*) ?tokens", re.IGNORECASE)
_SUM = re.compile(r"(\d[\d,]*) \+ (\d[\d,]*) > (\d[\d,]*)")
_TOTAL = re.compile(r"requested (?:about )?(\d[\d,]*) tokens", re.IGNORECASE)
_OUTPUT = re.compile(r"(\d[\d,]*) (?:tokens )?(?:in|for) the (?:completion|output)", re.IGNORECASE)
_PROMPT = re.compile(
    r"(\d[\d,]*) (?:input|prompt) tokens|prompt contains (?:at least )?(\d[\d,]*)|(\d[\d,]*) in the messages",
    re.IGNORECASE,
)
_SPARE = 64
"""Tokens; what servers count is not always all they use."""


def room_left(text: str) -> int | None:
    """Tokens, by the numbers in a refusal; None where these do not say it."""
    if sums := _SUM.search(text):
        prompt, window = _number(sums[1]), _number(sums[3])
    else:
        said = _WINDOW.search(text)
        told = _prompt(text)
        if said is None or told is None:
            return None
        prompt, window = told, _number(said[1])
    return window - prompt - _SPARE


def _prompt(text: str) -> int | None:
    total, output = _TOTAL.search(text), _OUTPUT.search(text)
    if total and output:
        return _number(total[1]) - _number(output[1])
    prompt = _PROMPT.search(text)
    return _number(next(group for group in prompt.groups() if group)) if prompt else None


def _number(text: str) -> int:
    return int(text.replace(",", ""))
