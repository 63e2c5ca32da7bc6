"""What is found in a shell text while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from pilothouse_agent.permissions.shell.script import Assignment, Function, Redirect, Script, SimpleCommand
from pilothouse_agent.permissions.shell.words import Unreadable, Word

__all__ = ["Command", "Draft"]

_MOST_WORDS = 2_000
"""With redirections and assignments; reading and judging them takes its time."""


@dataclass(slots=True)
class Command:
    words: list[Word] = field(default_factory=list[Word])
    assignments: list[Assignment] = field(default_factory=list[Assignment])
    redirects: list[Redirect] = field(default_factory=list[Redirect])

    def finished(self) -> SimpleCommand:
        return SimpleCommand(tuple(self.words), tuple(self.assignments), tuple(self.redirects))


@dataclass(slots=True)
class Draft:
    """Here-document bodies are filled in later."""

    commands: list[Command] = field(default_factory=list[Command])
    functions: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    doubts: list[str] = field(default_factory=list[str])
    room: int = _MOST_WORDS

    def use_room(self) -> None:
        self.room -= 1
        if self.room < 0:
            raise Unreadable("its length")

    def script(self) -> Script:
        commands = tuple(command.finished() for command in self.commands)
        functions = tuple(Function(name, commands[start:end]) for name, start, end in self.functions)
        return Script(commands, functions, tuple(dict.fromkeys(self.doubts)))
