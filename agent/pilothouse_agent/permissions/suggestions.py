"""Help with misspelt names."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["did_you_mean"]


_LONGEST_NAME = 80


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean a or b?`, or nothing when no known name is near."""
    from difflib import get_close_matches

    if len(name) > _LONGEST_NAME:
        return ""
    by_folded = {other.casefold(): other for other in known}
    near = [by_folded[match] for match in get_close_matches(name.casefold(), by_folded, n=2)]
    return f" Did you mean {' or '.join(near)}?" if near else ""
