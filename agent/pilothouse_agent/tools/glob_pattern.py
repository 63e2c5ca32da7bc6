"""Glob patterns over relative paths, as ignore files write them."""

from __future__ import annotations

import re

from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["GlobPattern"]

_TOKEN = re.compile(
    r"(?P<any_folders>(?<![^/])(?:\*\*/)+)|(?P<deep>\*\*+)|(?P<star>\*)|(?P<one>\?)"
    r"|\[(?P<negated>[!^]?)(?P<members>\]?(?:\\.|[^\]\\])*)\]|\\(?P<escaped>.)"
    r"|(?P<open>\{)|(?P<close>\})|(?P<comma>,)|(?P<literal>.)",
    re.DOTALL,
)
_PLAIN_NAME = re.compile(r"(?:[\w.*?+@ -]|\{[\w.*?+@ ,-]*\})+")


class GlobPattern:
    """One pattern; `*` and `?` stay within a name, `**` crosses folders, `{a,b}` is either.

    Without a slash it means names at any depth, with one in front or inside it is anchored at the
    folder searched, with one at its end it means all files below. A leading `!` means everything
    else. Raises `ToolError` for a pattern that cannot be understood.
    """

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self.negated = pattern.startswith("!")
        body = _whole(pattern.removeprefix("!"))
        self.of_names = "/" not in body
        """It is about names only, whatever folder they are in."""
        self.source = _translated(body.lstrip("/"))
        """A regular expression for the whole name or path, `negated` aside."""
        try:
            self._regex = re.compile(self.source, re.DOTALL | (re.IGNORECASE if ignore_case else 0))
        except re.error as error:
            raise ToolError(f"The glob {pattern!r} cannot be understood: {error.msg}.") from error
        name = None if self.negated else _name_filter(body)
        self.name_filter = _in_either_case(name) if name and ignore_case else name
        """A simple glob that the names of all matching files fit, for a quick first choice; or None."""

    def matches(self, path: str) -> bool:
        """`path` is relative, with forward slashes."""
        subject = path.rpartition("/")[2] if self.of_names else path
        return (self._regex.fullmatch(subject) is not None) != self.negated


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


def _translated(body: str) -> str:
    parts: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(body):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if depth < 0:
            break
        parts.append(_part(token, inside=depth > 0))
    if depth:
        raise ToolError(f"The glob {body!r} has a brace without its partner. Escape it with a backslash.")
    return "".join(parts)


def _part(token: re.Match[str], *, inside: bool) -> str:
    match token.lastgroup:
        case "any_folders":
            return "(?:.*/)?"
        case "deep":
            return ".*"
        case "star":
            return "[^/]*"
        case "one":
            return "[^/]"
        case "members":
            return _character_class(token["members"], negated=bool(token["negated"]))
        case "open":
            return "(?:"
        case "close":
            return ")"
        case "comma":
            return "|" if inside else ","
        case "escaped":
            return re.escape(token["escaped"])
        case _:
            return re.escape(token[0])


def _character_class(members: str, *, negated: bool) -> str:
    escaped = re.sub(r"\\(.)|([\[\]&~|^])", lambda found: f"\\{found[1] or found[2]}", members)
    return f"(?!/)[{'^' if negated else ''}{escaped}]"
