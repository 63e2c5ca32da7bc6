"""When two texts are the same although they are not equal: what editors see and do in their own way."""

from __future__ import annotations

__all__ = ["same_but_last_end", "same_text", "with_lf"]


def same_text(one: str, other: str) -> bool:
    """Whether an editor would show the same: mark, line ends and the end of the last line are its affair."""
    return one == other or _as_shown(one) == _as_shown(other)


def same_but_last_end(one: str, other: str) -> bool:
    """Whether they differ at most in that one of them ends its last line."""
    return one == other or _last_open(one) == _last_open(other)


def with_lf(text: str) -> str:
    """Its lines ended by LF, since editors tell a document's ends in their own way."""
    return text.replace("\r\n", "\n")


def _as_shown(text: str) -> str:
    return _last_open(with_lf(text.removeprefix("\ufeff")))


def _last_open(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")
