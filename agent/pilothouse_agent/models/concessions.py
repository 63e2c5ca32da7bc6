"""What a server has refused to take, learnt from its words and not sent to it again."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pilothouse_agent.kernel.messages import ErrorInfo

__all__ = ["Concessions"]

_LEARNT_FROM = ("invalidRequest", "toolCallInvalid", "unknown")


class Concessions:
    """By model, since one server may have many."""

    def __init__(self, wordings: Mapping[str, re.Pattern[str]]) -> None:
        """`wordings`: what can be conceded, and the words of a refusal that ask for it."""
        self._wordings = wordings
        self._made: dict[str, dict[str, str]] = {}

    def to(self, model: str) -> Mapping[str, str]:
        """What was conceded so far; the value is what the wording caught in its last group."""
        return self._made.get(model, {})

    def learn(self, model: str, error: ErrorInfo) -> bool:
        """Whether the refusal asks for something not yet conceded: then the request is worth repeating."""
        if error.kind not in _LEARNT_FROM:
            return False
        made = self._made.setdefault(model, {})
        for name, wording in self._wordings.items():
            if name not in made and (said := wording.search(error.message)):
                made[name] = said[said.lastindex or 0]
                return True
        return False
