"""Which folders the user trusts: what is in them may then choose more than a stranger's files may."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["is_trusted"]


def is_trusted(folders: Iterable[str], trusted: Iterable[str]) -> bool:
    """Whether each of the folders really is one of `trusted`, or below one; false for none. Blocks.

    Links count as what they lead to, on both sides.
    """
    roots = [root for path in trusted if (root := _real(path)) is not None]
    places = [_real(folder) for folder in folders]
    return bool(places) and all(
        place is not None and any(place.is_relative_to(root) for root in roots) for place in places
    )


def _real(path: str) -> Path | None:
    """None for what cannot be a path."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return None
