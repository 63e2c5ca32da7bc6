"""What a shell text consists of, as far as permissions care: its simple commands, however nested."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_agent.permissions.shell.words import Word

__all__ = ["Assignment", "Function", "Redirect", "Script", "SimpleCommand"]

_SYSTEM_FOLDERS = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"})


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Redirect:
    operator: str
    """Without the descriptor's number in front, so `>` for `2>`; `<<` stands for `<<-` too."""
    target: Word
    """For `<<` the body of the here-document."""

    @property
    def duplicates(self) -> bool:
        """It only joins descriptors, as `2>&1` does."""
        return self.operator in ("<&", ">&") and self.target.text.rstrip("-").isdecimal() | (
            self.target.text == "-"
        )

    @property
    def writes(self) -> bool:
        return self.operator in (">", ">>", ">|", "<>", "&>", "&>>", ">&") and not self.duplicates

    @property
    def reads(self) -> bool:
        return self.operator in ("<", "<>")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command with its words; without words it only assigns or redirects."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()

    @property
    def program(self) -> str | None:
        """The command's name without folders; None when there is none or only the shell will know it."""
        if not self.words or self.words[0].kind != "literal":
            return None
        return self.words[0].text.rpartition("/")[2]

    @property
    def usual_program(self) -> str | None:
        """The name, when it is found on PATH or in a folder of the system; else the whole path."""
        folder, slash, name = (
            self.words[0].text.rpartition("/") if self.program is not None else ("", "", None)
        )
        return name if not slash or folder in _SYSTEM_FOLDERS else self.words[0].text


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: tuple[SimpleCommand, ...]


@dataclass(frozen=True, slots=True)
class Script:
    commands: tuple[SimpleCommand, ...]
    """All that were found, also those inside substitutions, loops and functions."""
    functions: tuple[Function, ...]
    doubts: tuple[str, ...]
    """What may run commands that were not found, in words that follow `because of`; empty: all is known."""
