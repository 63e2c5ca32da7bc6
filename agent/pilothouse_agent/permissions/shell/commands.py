"""A command line taken apart: every simple command in it that permissions have to judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from pilothouse_agent.permissions.shell.script import Assignment, Function, SimpleCommand
from pilothouse_agent.permissions.shell.syntax import read_script
from pilothouse_agent.permissions.shell.words import Word
from pilothouse_agent.permissions.shell.wrappers import Inner, inner_of, tails

__all__ = ["CommandLine", "Part", "analyse", "is_inert"]

_DEEPEST = 8
_MOST_WORDS = 4_000
"""Of all commands together, those that others run included: judging them takes its time."""
_MOST_GUESSES = 1_000
_LONGEST_GUESSED = 20_000
_CUTS = re.compile(r"[;&|\n(){}`<>!]|\$\(")
_QUOTING = re.compile(r"\\\n|[\\'\"]")
_INERT_VARIABLES = frozenset(
    {
        "CI",
        "CLICOLOR",
        "COLUMNS",
        "DEBUG",
        "FORCE_COLOR",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_MESSAGES",
        "LC_NUMERIC",
        "LC_TIME",
        "LINES",
        "NODE_ENV",
        "NO_COLOR",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUNBUFFERED",
        "RUST_BACKTRACE",
        "TERM",
        "TZ",
        "VERBOSE",
    }
)
_INERT_VALUE = re.compile(r"[\w.:,@/+-]*")


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command of a line, as written or as run by another one."""

    command: SimpleCommand
    needs_allow: bool = True
    """Whether an allow rule has to cover it; a deny or ask rule counts in any case."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    parts: tuple[Part, ...]
    functions: tuple[Function, ...]
    guesses: tuple[SimpleCommand, ...]
    """What else the line may run; only deny rules look at it."""
    doubts: tuple[str, ...]
    """Why the parts may not be all, in words that follow `because of`. Empty: they are."""

    @property
    def commands(self) -> tuple[SimpleCommand, ...]:
        return tuple(part.command for part in self.parts)


@lru_cache(maxsize=64)
def analyse(text: str) -> CommandLine:
    """Never raises; what cannot be understood becomes a doubt."""
    draft = _Draft()
    draft.add_script(text, depth=0)
    return CommandLine(
        tuple(draft.parts), tuple(draft.functions), tuple(draft.guesses), tuple(dict.fromkeys(draft.doubts))
    )


def is_inert(assignment: Assignment) -> bool:
    """Whether no program runs anything else because of this variable."""
    return (
        assignment.name in _INERT_VARIABLES
        and assignment.value.kind == "literal"
        and _INERT_VALUE.fullmatch(assignment.value.text) is not None
    )


@dataclass(slots=True)
class _Draft:
    parts: list[Part] = field(default_factory=list[Part])
    functions: list[Function] = field(default_factory=list[Function])
    guesses: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    doubts: list[str] = field(default_factory=list[str])
    room: int = _MOST_WORDS

    def add_script(self, text: str, *, depth: int, needs_allow: bool = True) -> None:
        script = read_script(text)
        self.functions += script.functions
        if script.doubts:
            self.doubts += script.doubts
            self.add_guesses(_guessed(text))
        for command in script.commands:
            self.add_command(command, depth=depth, needs_allow=needs_allow)

    def add_command(self, command: SimpleCommand, *, depth: int, needs_allow: bool = True) -> None:
        self.room -= 1 + len(command.words) + len(command.redirects)
        if self.room < 0:
            self.doubts.append("its length")
            return
        inner = inner_of(command)
        outer_needs_allow = needs_allow and not (inner is not None and inner.transparent)
        self.parts.append(Part(command, outer_needs_allow))
        if inner is not None:
            self._add_inner(inner, depth=depth + 1, needs_allow=needs_allow and not inner.privileged)

    def _add_inner(self, inner: Inner, *, depth: int, needs_allow: bool) -> None:
        if depth > _DEEPEST:
            self.doubts.append("its deep nesting")
            return
        if inner.doubt:
            self.doubts.append(inner.doubt)
        self.add_guesses(inner.guesses)
        for text in inner.guessed_scripts:
            self.add_guesses(_guessed(text))
        for command in inner.commands:
            self.add_command(command, depth=depth, needs_allow=needs_allow)
        for text in inner.scripts:
            self.add_script(text, depth=depth, needs_allow=needs_allow)

    def add_guesses(self, commands: Iterable[SimpleCommand]) -> None:
        room = _MOST_GUESSES - len(self.guesses)
        self.guesses += list(commands)[: max(room, 0)]


def _guessed(text: str) -> Iterator[SimpleCommand]:
    """Word sequences of a text that cannot be read, quoting and structure set aside."""
    plain = _QUOTING.sub("", text[:_LONGEST_GUESSED])
    for segment in _CUTS.split(plain):
        yield from tails([Word(word) for word in segment.split()])
