"""Globs as EditorConfig writes them, matched in a time that no pattern can blow up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

__all__ = ["glob_matches", "last_fitting"]

_MOST_WORK = 500_000
"""Characters of a pattern times those of the path, for all patterns together. Above it nothing fits."""

_DIGITS = 20


@dataclass(frozen=True, slots=True)
class _Char:
    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Number:
    low: int
    high: int


_Step: TypeAlias = "tuple[_Char | _Number | None, int]"
"""What is to be there, None for nothing, and the state behind it."""


def last_fitting(rules: Sequence[tuple[str, str]], path: str) -> str | None:
    """Of pairs of a glob and a word, the word of the last glob that fits."""
    work = 0
    for pattern, word in reversed(rules):
        work += len(pattern) * len(path)
        if work > _MOST_WORK:
            return None
        if glob_matches(pattern, path):
            return word
    return None


def glob_matches(pattern: str, path: str) -> bool:
    """`path` is relative, with slashes. A pattern without a slash fits the name in any folder.

    All ways through the pattern are gone at once, so that the time is bounded by the product of both
    lengths.
    """
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    machine = _compiled(pattern.removeprefix("/"))
    waiting: defaultdict[int, set[int]] = defaultdict(set)
    waiting[0].add(0)
    for place in range(len(path) + 1):
        for state in machine.closed(waiting.pop(place, set())):
            if state == machine.end and place == len(path):
                return True
            for wanted, after in machine.steps[state]:
                for length in _lengths(wanted, path, place):
                    waiting[place + length].add(after)
        if not waiting:
            return False
    return False


def _lengths(wanted: _Char | _Number | None, path: str, place: int) -> Iterator[int]:
    if isinstance(wanted, _Char):
        if place < len(path) and wanted.fits(path[place]):
            yield 1
    elif isinstance(wanted, _Number):
        start = place + (path[place : place + 1] in ("+", "-") and place < len(path))
        end = start
        while end < len(path) and end - start < _DIGITS and path[end].isascii() and path[end].isdigit():
            end += 1
            if wanted.low <= int(path[place:end]) <= wanted.high:
                yield end - place


class _Machine:
    def __init__(self) -> None:
        self.steps: list[list[_Step]] = [[]]
        self.end = 0

    def state(self) -> int:
        self.steps.append([])
        return len(self.steps) - 1

    def go(self, start: int, wanted: _Char | _Number | None, after: int) -> None:
        self.steps[start].append((wanted, after))

    def closed(self, states: set[int]) -> set[int]:
        """With all that is reached from them by nothing."""
        found, left = set(states), list(states)
        while left:
            for wanted, after in self.steps[left.pop()]:
                if wanted is None and after not in found:
                    found.add(after)
                    left.append(after)
        return found


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Machine:
    return _Parser(pattern).parse()


class _Parser:
    """One pass over the pattern; a brace or bracket that nothing closes is a character like others."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._machine = _Machine()
        self._closings = _closing_braces(pattern)

    def parse(self) -> _Machine:
        self._machine.end = self._sequence(0, len(self._pattern))
        return self._machine

    def _sequence(self, state: int, end: int) -> int:
        """Parse up to `end`, from a state on; the state behind it. Braces are kept on a stack of their own,
        as they may be nested as deep as a pattern is long."""
        open_braces: list[tuple[int, int, int]] = []
        while self._at < end:
            char = self._pattern[self._at]
            closing = self._closings.get(self._at)
            if char == "{" and closing is not None:
                state = self._brace(state, closing, open_braces)
            elif char == "," and open_braces:
                start, after, _ = open_braces[-1]
                self._machine.go(state, None, after)
                state, self._at = start, self._at + 1
            elif char == "}" and open_braces and open_braces[-1][2] == self._at:
                after = open_braces.pop()[1]
                self._machine.go(state, None, after)
                state, self._at = after, self._at + 1
            else:
                state = self._one(state, char)
        return state

    def _brace(self, state: int, closing: int, open_braces: list[tuple[int, int, int]]) -> int:
        inner = self._pattern[self._at + 1 : closing]
        numbers = _numbers(inner)
        if numbers is not None:
            after = self._machine.state()
            self._machine.go(state, numbers, after)
            self._at = closing + 1
            return after
        start = self._machine.state()
        self._machine.go(state, None, start)
        open_braces.append((start, self._machine.state(), closing))
        self._at += 1
        return start

    def _one(self, state: int, char: str) -> int:
        machine = self._machine
        if char == "*":
            return self._star(state)
        after = machine.state()
        if char == "?":
            fits = _is_no_slash
            self._at += 1
        elif char == "[" and (members := self._bracket()) is not None:
            fits = members
        else:
            if char == "\\" and self._at + 1 < len(self._pattern):
                self._at += 1
                char = self._pattern[self._at]
            self._at += 1
            fits = char.__eq__
        machine.go(state, _Char(fits), after)
        return after

    def _star(self, state: int) -> int:
        """`**/` may stand for no folder at all."""
        pattern, machine = self._pattern, self._machine
        begins = self._at == 0 or pattern[self._at - 1] == "/"
        count = len(pattern) - self._at - len(pattern[self._at :].lstrip("*"))
        self._at += count
        loop = machine.state()
        machine.go(state, None, loop)
        machine.go(loop, _Char(_is_anything if count > 1 else _is_no_slash), loop)
        if count > 1 and begins and pattern[self._at : self._at + 1] == "/":
            self._at += 1
            after = machine.state()
            machine.go(loop, _Char("/".__eq__), after)
            machine.go(state, None, after)
            return after
        return loop

    def _bracket(self) -> Callable[[str], bool] | None:
        end = self._pattern.find("]", self._at + 2)
        inner = self._pattern[self._at + 1 : end]
        if end < 0 or "/" in inner:
            return None
        negated = inner[:1] in ("!", "^")
        members = _members(inner[negated:])
        self._at = end + 1
        return lambda char: char != "/" and (char in members) is not negated


def _is_no_slash(char: str) -> bool:
    return char != "/"


def _is_anything(char: str) -> bool:
    return True


class _Members:
    def __init__(self) -> None:
        self.ranges: list[tuple[str, str]] = []

    def __contains__(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges)


def _members(inner: str) -> _Members:
    found = _Members()
    at = 0
    while at < len(inner):
        if inner[at + 1 : at + 2] == "-" and at + 2 < len(inner):
            found.ranges.append((inner[at], inner[at + 2]))
            at += 3
        else:
            found.ranges.append((inner[at], inner[at]))
            at += 1
    return found


def _numbers(inner: str) -> _Number | None:
    low, dots, high = inner.partition("..")
    try:
        return _Number(*sorted((int(low), int(high)))) if dots and len(inner) <= 2 * _DIGITS else None
    except ValueError:
        return None


def _closing_braces(pattern: str) -> dict[int, int]:
    """Where each brace that is a choice or a range of numbers ends."""
    found: dict[int, int] = {}
    opened: list[int] = []
    choices: set[int] = set()
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char == "{":
            opened.append(at)
        elif char == "," and opened:
            choices.add(opened[-1])
        elif char == "}" and opened:
            start = opened.pop()
            if start in choices or _numbers(pattern[start + 1 : at]) is not None:
                found[start] = at
        at += 1
    return found
