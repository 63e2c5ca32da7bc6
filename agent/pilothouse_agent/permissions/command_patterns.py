"""Patterns for commands: `git push`, `rm -rf *`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pilothouse_agent.permissions.shell.script import SimpleCommand
    from pilothouse_agent.permissions.shell.words import Word

__all__ = ["CommandPattern", "Match"]

_SAME_OPTIONS = {"r": ("R", "--recursive"), "f": ("--force",)}
_LONGEST_CLUSTER = 3
_LONGEST = 1_000
_SHORTEST_ABBREVIATION = len("--f")


class Match(IntEnum):
    NO = 0
    MAYBE = 1
    """It depends on words that only the shell will know."""
    YES = 2


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """Matches commands that begin with these words; `*` stands for anything within one word.

    A `*` as last word changes nothing, it only says what holds anyway: more words may follow.
    """

    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> CommandPattern:
        """Raises `ValueError` with what is wrong."""
        if len(text) > _LONGEST:
            raise ValueError(f"it is longer than {_LONGEST:,} characters")
        try:
            words = tuple(shlex.split(text))
        except ValueError:
            raise ValueError("it has a quote that is not closed") from None
        if len(words) > 1 and words[-1] == "*":
            words = words[:-1]
        if not words:
            raise ValueError("a pattern for commands needs at least one word")
        return cls(words)

    def __str__(self) -> str:
        return " ".join(self.words)

    def covers(self, command: SimpleCommand) -> bool:
        """For allow rules: the very words, in their order, and no other program of the same name."""
        program = command.usual_program
        if program is None or len(command.words) < len(self.words):
            return False
        rest = zip(command.words[1:], self.words[1:], strict=False)
        return fnmatchcase(program, self.words[0]) and all(
            word.kind == "literal" and fnmatchcase(word.text, wanted) for word, wanted in rest
        )

    def meets(self, command: SimpleCommand) -> Match:
        """For ask and deny rules: the same command in any form.

        Options may stand anywhere, be split, joined, abbreviated or written out; other options may
        stand between; the program may be named by any path.
        """
        if not command.words:
            return Match.NO
        if command.program is None:
            return Match.MAYBE
        program = command.words[0].text if "/" in self.words[0] else command.program
        if not fnmatchcase(program, self.words[0]):
            return Match.NO
        operands = [word for word in self.words[1:] if not word.startswith("-")]
        options = [word for word in self.words[1:] if word.startswith("-")]
        rest = command.words[1:]
        return min([_operands(operands, rest), *(_option(option, rest) for option in options)])


def _operands(wanted: Sequence[str], words: Sequence[Word]) -> Match:
    """Whether the first operands are those wanted. A word behind an option may be that option's value."""
    reached: set[int] = {0}
    may_be_value = False
    for word in words:
        if len(wanted) in reached:
            return Match.YES
        if word.kind != "literal":
            return Match.MAYBE
        if word.text.startswith("-") and len(word.text) > 1:
            may_be_value = "=" not in word.text and word.text != "--"
            continue
        advanced = {at + 1 for at in reached if fnmatchcase(word.text, wanted[at])}
        reached = advanced | (reached if may_be_value else set[int]())
        may_be_value = False
        if not reached:
            return Match.NO
    return Match.YES if len(wanted) in reached else Match.NO


def _option(wanted: str, words: Sequence[Word]) -> Match:
    if wanted.startswith("--"):
        found = any(_is_long(wanted, word.text) for word in words) or any(
            _has_letter(letter, words) for letter, same in _SAME_OPTIONS.items() if wanted in same
        )
    else:
        cluster = len(wanted) - 1 <= _LONGEST_CLUSTER
        found = any(word.text == wanted for word in words) or (
            cluster and all(_has_letter(letter, words) for letter in wanted[1:])
        )
    if found:
        return Match.YES
    return Match.MAYBE if any(word.kind != "literal" for word in words) else Match.NO


def _is_long(wanted: str, text: str) -> bool:
    name = text.partition("=")[0]
    return len(name) >= _SHORTEST_ABBREVIATION and wanted.startswith(name) and name.startswith("--")


def _has_letter(letter: str, words: Sequence[Word]) -> bool:
    for word in words:
        if word.text.startswith("--"):
            if any(_is_long(same, word.text) for same in _SAME_OPTIONS.get(letter, ())):
                return True
        elif word.text.startswith("-") and {letter, *_SAME_OPTIONS.get(letter, ())} & set(word.text[1:]):
            return True
    return False
