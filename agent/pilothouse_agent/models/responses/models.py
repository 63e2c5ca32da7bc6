"""What is known of the reasoning of OpenAI's models by their names. Data, and how to look it up."""

from __future__ import annotations

import re
from typing import NamedTuple

from pilothouse_agent.kernel.request import ThinkingLevel

__all__ = ["effort", "reasons"]


class _Family(NamedTuple):
    pattern: re.Pattern[str]
    off: str | None
    """The least effort the family takes; None leaves it unsaid."""
    minimal: str | None
    takes_levels: bool = True


# The first that fits counts. A model asked not to think at all is asked for the least it can do.
_FAMILIES = (
    _Family(re.compile(r"gpt-[34]|-chat\b|computer-use"), None, None, takes_levels=False),
    _Family(re.compile(r"-pro\b|deep-research"), None, None, takes_levels=False),
    _Family(re.compile(r"codex"), "low", "low"),
    _Family(re.compile(r"gpt-5[.-]?[1-9]\b|gpt-[6-9]"), "none", "low"),
    _Family(re.compile(r"gpt-5"), "minimal", "minimal"),
    _Family(re.compile(r"\bo\d"), "low", "low"),
)
_ANY = _Family(re.compile(r""), None, "low")
_SILENT = re.compile(r"gpt-[34]|-chat\b|computer-use")


def effort(model: str, level: ThinkingLevel) -> str | None:
    """The word for `reasoning.effort`; None where nothing should be said."""
    family = next((family for family in _FAMILIES if family.pattern.search(model)), _ANY)
    if level == "off":
        return family.off
    if not family.takes_levels:
        return None
    return family.minimal if level == "minimal" else level


def reasons(model: str) -> bool:
    """Whether it may think at all; others refuse to be asked for encrypted thinking."""
    return not _SILENT.search(model)
