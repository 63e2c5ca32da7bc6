"""What is known of Anthropic's models by their names. Data, and how to look it up."""

from __future__ import annotations

import re
from typing import Literal

from pilothouse_agent.kernel.request import ThinkingLevel

__all__ = ["BUDGETS", "EFFORTS", "ThinkingStyle", "output_limit", "thinking_style"]

ThinkingStyle = Literal["none", "budget", "adaptive"]

BUDGETS: dict[ThinkingLevel, int] = {"minimal": 1_024, "low": 4_096, "medium": 12_288, "high": 32_000}
"""Tokens of thinking, for models that are given a number."""
EFFORTS: dict[ThinkingLevel, str] = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
"""For models that decide for themselves how long to think."""

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_NEWEST = (99, 0)
_ADAPTIVE_SINCE = (4, 6)
_THINKING_SINCE = (3, 7)
_LIMITS = (((4, 5), 64_000), ((3, 7), 32_000), ((3, 5), 8_192), ((0, 0), 4_096))
"""What an answer may have at most, from which version on; the least of the family counts."""
_UNKNOWN_LIMIT = 8_192


def thinking_style(model: str) -> ThinkingStyle:
    version = _version(model)
    if version is None:
        return "budget"
    if version >= _ADAPTIVE_SINCE:
        return "adaptive"
    return "budget" if version >= _THINKING_SINCE else "none"


def output_limit(model: str) -> int:
    """A limit in tokens that the model takes, for where nothing better is known."""
    version = _version(model)
    if version is None:
        return _UNKNOWN_LIMIT
    return next(limit for since, limit in _LIMITS if version >= since)


def _version(model: str) -> tuple[int, int] | None:
    """None for models of other makers, behind servers that speak this format."""
    if "claude" not in model:
        return None
    found = _VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else _NEWEST
