"""What is never run, whatever rules and modes say."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate

from pilothouse_agent.permissions.command_patterns import CommandPattern, Match
from pilothouse_agent.permissions.shell.commands import CommandLine
from pilothouse_agent.permissions.shell.script import Function, SimpleCommand

__all__ = ["forbidden"]

_DISKS = (
    "/dev/sd*",
    "/dev/hd*",
    "/dev/vd*",
    "/dev/xvd*",
    "/dev/nvme*",
    "/dev/mmcblk*",
    "/dev/disk*",
    "/dev/rdisk*",
    "/dev/dm-*",
    "/dev/mapper/*",
    "/dev/loop*",
    "/dev/mem",
)
_EVERYTHING = (
    "/",
    "~",
    "$HOME",
    "${HOME}",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/sbin",
    "/sys",
    "/usr",
    "/var",
)


@dataclass(frozen=True, slots=True)
class _Forbidden:
    commands: tuple[str, ...]
    reason: str
    operands: tuple[str, ...] = ("*",)
    """Patterns; one word of the command must match one."""


_FORBIDDEN = (
    _Forbidden(("rm -r",), "it deletes the whole system or the home folder", _EVERYTHING),
    _Forbidden(("rm --no-preserve-root",), "it is meant to delete the whole system"),
    _Forbidden(
        ("chmod -R", "chmod --recursive", "chown -R", "chown --recursive"),
        "it changes who may use every file of the system or the home folder",
        _EVERYTHING,
    ),
    _Forbidden(("mkfs", "mkfs.*", "mke2fs", "mkswap", "wipefs"), "it destroys what a disk holds"),
    _Forbidden(("dd",), "it overwrites a disk", tuple(f"of={disk}" for disk in _DISKS)),
    _Forbidden(("tee", "cp", "shred"), "it overwrites a disk", _DISKS),
)
_OVERWRITES = "it overwrites a disk"
_FORK_BOMB = "it starts copies of itself without end"


def forbidden(line: CommandLine, *, home: str) -> str | None:
    """Why the line must not run, in words that follow `because`."""
    if any(_multiplies(function) for function in line.functions):
        return _FORK_BOMB
    for command in (*line.commands, *line.guesses):
        if reason := _reason(command, home):
            return reason
    return None


def _reason(command: SimpleCommand, home: str) -> str | None:
    if any(redirect.writes and _is_one_of(_DISKS, redirect.target.text) for redirect in command.redirects):
        return _OVERWRITES
    if command.program is None or not _PROGRAMS.fullmatch(command.program):
        return None
    for entry, patterns in _COMPILED:
        operands = (*_EVERYTHING, home) if entry.operands is _EVERYTHING else entry.operands
        if any(pattern.meets(command) is Match.YES for pattern in patterns) and any(
            _is_one_of(operands, _plain(word.text)) for word in command.words[1:]
        ):
            return entry.reason
    return None


def _is_one_of(patterns: Iterable[str], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _plain(operand: str) -> str:
    """The folder meant: `/usr/../*` is all of `/`."""
    folded = posixpath.normpath(operand.replace("//", "/"))
    for everything_in in ("/*", "/.*"):
        folded = folded.removesuffix(everything_in) or "/"
    return folded


def _multiplies(function: Function) -> bool:
    return sum(command.program == function.name for command in function.body) > 1


_COMPILED = tuple(
    (entry, tuple(CommandPattern.parse(command) for command in entry.commands)) for entry in _FORBIDDEN
)
_PROGRAMS = re.compile(
    "|".join(translate(pattern.words[0]) for _, patterns in _COMPILED for pattern in patterns)
)
