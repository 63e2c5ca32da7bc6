"""Glob patterns over relative paths, as ignore files write them."""

from __future__ import annotations

import re
from contextlib import suppress

from pilothouse_agent.kernel.globs import alternatives, glob_source
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["GlobPattern", "with_literal_brackets"]

_SHOWN = 100
_PLAIN_NAME = re.compile(r"(?:[\w.*?+@ -]|\{[\w.*?+@ ,-]*\})+")


class GlobPattern:
    """One pattern; `*` and `?` stay within a name, `**` crosses folders, `{a,b}` is either.

    Square brackets also mean themselves, as in `app/[id]/page.tsx`, besides a choice of characters.
    Without a slash it means names at any depth, with one in front or inside it is anchored at the
    folder searched, with one at its end it means all files below. A leading `!` means everything
    else. Raises `ToolError` for a pattern that cannot be understood.
    """

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self.negated = pattern.startswith("!")
        body = _whole(pattern.removeprefix("!"))
        self.of_names = "/" not in body
        """It is about names only, whatever folder they are in."""
        try:
            source = "|".join(glob_source(each) for each in _readings(body.lstrip("/")))
        except ValueError as error:
            raise ToolError(f"The glob {_shortened(pattern)!r} {error}.") from error
        self.source = source
        """A regular expression for the whole name or path, `negated` aside."""
        self._regex = re.compile(self.source, re.DOTALL | (re.IGNORECASE if ignore_case else 0))
        name = None if self.negated else _name_filter(body)
        self.name_filter = _in_either_case(name) if name and ignore_case else name
        """A simple glob that the names of all matching files fit, for a quick first choice; or None."""

    def matches(self, path: str) -> bool:
        """`path` is relative, with forward slashes."""
        subject = path.rpartition("/")[2] if self.of_names else path
        return (self._regex.fullmatch(subject) is not None) != self.negated


def _shortened(pattern: str) -> str:
    return pattern if len(pattern) <= _SHOWN else pattern[: _SHOWN - 1] + "…"


def _readings(body: str) -> list[str]:
    meant = alternatives(body)
    literal = with_literal_brackets(body)
    if literal != body:
        with suppress(ValueError):
            meant += alternatives(literal)
    return meant


def with_literal_brackets(body: str) -> str:
    return re.sub(r"\\.|\[", lambda found: "\\[" if found[0] == "[" else found[0], body, flags=re.DOTALL)


def _whole(body: str) -> str:
    body = re.sub(r"^\./", "/", body)
    if not body.endswith("/"):
        return body
    return body + "**" if "/" in body.rstrip("/") else f"**/{body}**"


def _name_filter(body: str) -> str | None:
    name = body.rpartition("/")[2]
    simple = _PLAIN_NAME.fullmatch(name) and "**" not in name and name != "*"
    return name if simple else None


def _in_either_case(name: str) -> str:
    return re.sub("[a-zA-Z]", lambda letter: f"[{letter[0].lower()}{letter[0].upper()}]", name)
