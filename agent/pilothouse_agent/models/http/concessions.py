"""What a server has refused to take, learnt from its words and not sent to it again.

Each is learnt as narrowly as the refusal allows: for a model of the server, for one level of thinking, or for
what a session had said by then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import ModelRequest, ThinkingLevel
from pilothouse_agent.models.history.image_refusals import NO_IMAGES, TOO_MANY_IMAGES

__all__ = ["OF_IMAGES", "Concession", "Concessions", "is_conceded"]

_LEARNT_FROM = ("invalidRequest", "toolCallInvalid", "unknown")
_OF_A_VALUE = re.compile(
    r"(?:un(?:supported|known|expected)|invalid|illegal) (?:\w+ )?(?:value|effort|level|variant)"
    r"|supported (?:values|levels)|input should be|(?:must|should) be one of|expected one of|is not one of"
    r"|not a valid|valid (?:values|options|levels)|allowed values",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Concession:
    wording: re.Pattern[str]
    """The words of a refusal that ask for it."""
    told: str = ""
    """What the user is told of it, after the provider's name; nobody misses the others."""
    by_level: bool = False
    """A refusal of one level of thinking leaves the other levels as they are."""
    of_past: bool = False
    """It is about what the session has sent so far, and what follows is sent as ever."""


OF_IMAGES: Mapping[str, Concession] = {
    "images": Concession(NO_IMAGES, "does not take images; notes stand in their places."),
    "image count": Concession(TOO_MANY_IMAGES, "does not take so many images; the newest are sent."),
}
"""What every format leaves out in the same way."""


class Concessions:
    """By model, since one server may have many."""

    def __init__(self, kinds: Mapping[str, Concession]) -> None:
        self._kinds = kinds
        self._of_models: dict[str, dict[str, str]] = {}
        self._of_sessions: dict[tuple[str, str], dict[str, str]] = {}

    def to(self, request: ModelRequest) -> Mapping[str, str]:
        """What was conceded so far, by name; the name of a level stands behind what is conceded for it only.

        The value is what the wording caught in its last group, or the id of the last message that what is
        conceded of the past is about: empty for all of a session.
        """
        of_model = self._of_models.get(request.model, {})
        of_session = self._of_sessions.get((request.session_id, request.model))
        return {**of_model, **of_session} if of_session else of_model

    def learn(self, request: ModelRequest, error: ErrorInfo) -> Concession | None:
        """What the refusal asks for and was not conceded yet; then the request is worth repeating."""
        if error.kind not in _LEARNT_FROM:
            return None
        for name, kind in self._kinds.items():
            said = kind.wording.search(error.message)
            if said is not None and self._note(name, kind, said, request, error.message):
                return kind
        return None

    def _note(
        self, name: str, kind: Concession, said: re.Match[str], request: ModelRequest, text: str
    ) -> bool:
        """Whether it is new."""
        if kind.of_past:
            made = self._of_sessions.setdefault((request.session_id, request.model), {})
            last, before = request.messages[-1].id if request.messages else "", made.get(name)
            if before in (last, ""):
                return False
            # Refused again, of what has come since, it is refused whatever it is.
            made[name] = last if before is None else ""
            return True
        made = self._of_models.setdefault(request.model, {})
        narrow = _at_level(name, request.thinking)
        if kind.by_level and narrow not in made and _is_about(request.thinking, text):
            made[narrow] = ""
            return True
        if name in made:
            return False
        made[name] = said[said.lastindex or 0]
        return True


def is_conceded(name: str, level: ThinkingLevel, conceded: Mapping[str, str]) -> bool:
    """For all levels of thinking, or for this one."""
    return name in conceded or _at_level(name, level) in conceded


def _at_level(name: str, level: ThinkingLevel) -> str:
    return f"{name} {level}"


def _is_about(level: ThinkingLevel, text: str) -> bool:
    """Whether a refusal is of the value rather than of all that may be said in its place."""
    if level == "off" or _OF_A_VALUE.search(text):
        return True
    return re.search(rf"\b{level}\b", text, re.IGNORECASE) is not None
