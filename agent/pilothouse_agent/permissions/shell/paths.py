"""Paths that the words of a command may mean."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from pilothouse_agent.permissions.shell.script import SimpleCommand
from pilothouse_agent.permissions.shell.words import Word

__all__ = ["absolute_path", "named_paths"]

_SEARCHERS = frozenset({"egrep", "fgrep", "grep", "rg", "sed"})
_HOME = re.compile(r"(?:~|\$HOME|\$\{HOME\})(?=/|$)")
_STREAMS = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|fd/\d+)")
_LONGEST_PATH = 4096


def named_paths(command: SimpleCommand, *, cwd: str, home: str) -> Iterator[str]:
    """Absolute, `..` folded, symlinks not followed. A best effort: a program may use any other path."""
    if command.program in ("cd", "pushd") and _goes_home(command.words[1:]):
        yield home
    for text in _candidates(command):
        path = absolute_path(text, cwd=cwd, home=home)
        if path is not None:
            yield path


def absolute_path(text: str, *, cwd: str, home: str) -> str | None:
    """None for what is no path, or one of the standard streams."""
    if not text or len(text) > _LONGEST_PATH or "\n" in text or "://" in text or _STREAMS.fullmatch(text):
        return None
    expanded = _HOME.sub(lambda _: home, text, count=1) if _HOME.match(text) else text
    if expanded.startswith("~"):
        return os.path.normpath("/" + expanded)
    return os.path.normpath(os.path.join(cwd, expanded))


def _candidates(command: SimpleCommand) -> Iterator[str]:
    if command.usual_program is not None and "/" in command.usual_program:
        yield command.usual_program
    skipped = _pattern_operand(command)
    for word in command.words[1:]:
        if word is skipped:
            continue
        text = word.text
        if not text.startswith("-"):
            yield text
        elif not text.startswith("--") and re.match(r"[/~$]|\.\.", text[2:]):
            yield text[2:]
        if "=" in text:
            yield text.partition("=")[2]


def _pattern_operand(command: SimpleCommand) -> Word | None:
    """What a searching program looks for: it only looks like a path. None when options blur which it is."""
    if command.program not in _SEARCHERS:
        return None
    words = command.words[1:]
    for word in words:
        if word.text.startswith("--") or (word.text.startswith("-") and {"e", "f"} & set(word.text)):
            return None
    return next((word for word in words if not word.text.startswith("-")), None)


def _goes_home(words: tuple[Word, ...]) -> bool:
    operands = [word.text for word in words if not word.text.startswith("-") or word.text == "-"]
    return not operands or operands[0] == "-"
