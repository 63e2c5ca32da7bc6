"""What whole families of models have in common, out of families.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

__all__ = ["Family", "converses", "family_of"]


@dataclass(frozen=True, slots=True)
class Family:
    """None: not known."""

    max_output: int | None = None
    images: bool | None = None
    thinking: bool | None = None
    context_window: int | None = None
    image_side: int | None = None
    """Pixels of the longer side of an image."""


@cache
def family_of(name: str) -> Family:
    """By a model's name, with or without a maker in front."""
    name = name.rpartition("/")[2].lower()
    return next((family for pattern, family in _FAMILIES if pattern.fullmatch(name)), Family())


def converses(name: str) -> bool:
    """Whether a model is one to talk to, and not for speech, pictures or vectors only."""
    return _OTHER.fullmatch(name.rpartition("/")[2].lower()) is None


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)))


# Read when this is imported, which the server does in a thread.
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_OTHER = _pattern(_TABLE["other"])
_FAMILIES = [
    (
        _pattern(row["names"]),
        Family(
            row.get("maxOutput"),
            row.get("images"),
            row.get("thinking"),
            row.get("contextWindow"),
            row.get("imageSide"),
        ),
    )
    for row in _TABLE["family"]
]
