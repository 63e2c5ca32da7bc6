"""Glob patterns for paths, as regular expressions whose time is linear in the path for any pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["alternatives", "glob_source"]

_LONGEST = 2_000
_MOST_ALTERNATIVES = 256
_MOST_CHARACTERS = 50_000

_CLASS = re.compile(r"\[[!^]?\]?[^\]\\]*+(?:\\.[^\]\\]*+)*+\]", re.DOTALL)
_NAMED_CLASS = re.compile(r"\[[:.=]\w+[:.=]\]")
_ELEMENTS = re.compile(r"\*+|\\.|[^*?\\/\[]+|.", re.DOTALL)
_BRACES = re.compile(r"\\.|[^\\{},\[]+|.", re.DOTALL)
_STAR_RUNS = re.compile(r"\*+|\\.|[^*\\\[]+|.", re.DOTALL)

_IN_NAME = "[^/]"
_STARS = f"{_IN_NAME}*"
_FOLDERS = f"(?:{_STARS}/)*"


def glob_source(pattern: str) -> str:
    """For `fullmatch` on relative paths, or whatever has an own anchor in front; has no groups.

    `*` and `?` stay within a name; `**` as a whole name stands for any folders, elsewhere for `*`.
    Raises `ValueError` with what is wrong, to follow the pattern.
    """
    groups: list[list[str]] = [[]]
    for name in _names(pattern):
        if len(name) == 1 and len(name[0]) > 1 and not name[0].strip("*"):
            groups.append([])
        else:
            groups[-1].append(_name_source(name))
    first, *others = groups
    source = "/".join(first) + ("/" if first and others else "")
    # Between two `**` the first place that fits is as good as any, so it need not be given up again.
    source += "".join(f"(?>{_FOLDERS}?{'/'.join(names)}/)" for names in others[:-1] if names)
    if others:
        source += _FOLDERS + "/".join(others[-1]) if others[-1] else ".*"
    return source


def alternatives(pattern: str) -> list[str]:
    """What a pattern with `{a,b}`, or with `**` inside a name, stands for. Raises `ValueError`."""
    _refuse_long(pattern)
    stack: list[tuple[list[str], list[str]]] = [([], [""])]
    """Of each open brace, outermost first: the branches that are complete, and the one that is being read."""
    for token, _, _ in _tokens(_BRACES, pattern):
        done, current = stack[-1]
        if token == "{":
            stack.append(([], [""]))
        elif token == "," and len(stack) > 1:
            stack[-1] = ([*done, *current], [""])
        elif token == "}":
            if len(stack) == 1:
                raise ValueError("has a closing brace without its partner; escape it with a backslash")
            stack.pop()
            before, prefixes = stack[-1]
            stack[-1] = (before, _bounded(prefixes, [*done, *current]))
        else:
            stack[-1] = (done, _bounded(current, [token]))
    if len(stack) > 1:
        raise ValueError("has an opening brace without its partner; escape it with a backslash")
    return _bounded([""], [each for one in stack[0][1] for each in (_crossing(one) if "/" in one else [one])])


def _bounded(prefixes: Sequence[str], endings: Sequence[str]) -> list[str]:
    count = len(prefixes) * len(endings)
    size = sum(map(len, prefixes)) * len(endings) + sum(map(len, endings)) * len(prefixes)
    if count > _MOST_ALTERNATIVES or size > _MOST_CHARACTERS:
        raise ValueError(f"stands for more than {_MOST_ALTERNATIVES} patterns; give fewer alternatives")
    return [prefix + ending for prefix in prefixes for ending in endings]


def _crossing(pattern: str) -> list[str]:
    """`a**b` in a path reaches into folders: it is `a*b` or `a*/**/*b`."""
    made = [""]
    for token, start, end in _tokens(_STAR_RUNS, pattern):
        meanings = [token]
        if token.startswith("**"):
            opens, closes = pattern[:start][-1:] in ("", "/"), pattern[end : end + 1] in ("", "/")
            if not opens or not closes:
                meanings = _meanings(opens=opens, behind=pattern[end : end + 1])
        made = _bounded(made, meanings)
    return made


def _meanings(*, opens: bool, behind: str) -> list[str]:
    if opens:
        return ["**/*"]
    if behind == "/":
        return ["*/**"]
    return ["*", "*/**/*" if behind else "*/**"]


def _tokens(others: re.Pattern[str], pattern: str) -> Iterator[tuple[str, int, int]]:
    """Classes as they stand, and what `others` finds between them, each with its place."""
    position = 0
    while position < len(pattern):
        found = _CLASS.match(pattern, position) or others.match(pattern, position)
        assert found is not None
        yield found[0], position, found.end()
        position = found.end()


def _names(pattern: str) -> Iterator[list[str]]:
    """The names of a path pattern, each as its runs of stars and the sources of what stands between."""
    _refuse_long(pattern)
    name: list[str] = []
    for token, _, _ in _tokens(_ELEMENTS, pattern):
        if token == "/":
            yield name
            name = []
        else:
            name.append(_element_source(token))
    yield name


def _element_source(token: str) -> str:
    if token.startswith("*"):
        return token
    if token.startswith("[") and len(token) > 1:
        return _class_source(token)
    if token == "?":
        return _IN_NAME
    return re.escape(token[1:] if token.startswith("\\") and len(token) > 1 else token)


def _name_source(elements: Sequence[str]) -> str:
    """Each piece between stars is taken at its first place, the last at the end: nothing is tried twice."""
    pieces = [""]
    for element in elements:
        if element.strip("*"):
            pieces[-1] += element
        else:
            pieces.append("")
    first, *others = pieces
    if not others:
        return first
    middle = "".join(f"(?>{_STARS}?{piece})" for piece in others[:-1] if piece)
    return f"{first}{middle}(?>{_STARS}{others[-1]}(?!{_IN_NAME}))"


def _class_source(text: str) -> str:
    if _NAMED_CLASS.search(text):
        raise ValueError("has a named class such as [:alpha:], which is not known here; write [a-zA-Z]")
    negated = text[1] in "!^"
    members = re.findall(r"\\?.", text[2 if negated else 1 : -1], re.DOTALL)
    source, index = "", 0
    while index < len(members):
        if members[index + 1 : index + 2] == ["-"] and index + 2 < len(members):
            low, high = members[index][-1], members[index + 2][-1]
            if low > high:
                raise ValueError("has a range of characters that runs backwards")
            source += f"{re.escape(low)}-{re.escape(high)}"
            index += 3
        else:
            source += re.escape(members[index][-1])
            index += 1
    return f"(?!/)[{'^' if negated else ''}{source}]"


def _refuse_long(pattern: str) -> None:
    if len(pattern) > _LONGEST:
        raise ValueError(f"is longer than {_LONGEST:,} characters")
