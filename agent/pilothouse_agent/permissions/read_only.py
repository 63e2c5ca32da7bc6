"""Which commands are known to change nothing: by program, and by every option they are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pilothouse_agent.permissions.accepted_options import AcceptedOptions
from pilothouse_agent.permissions.read_only_programs import ANY_OPTIONS, GIT, PROGRAMS, VERSION_ONLY
from pilothouse_agent.permissions.shell.commands import CommandLine, analyse, is_inert
from pilothouse_agent.permissions.shell.script import Redirect, SimpleCommand
from pilothouse_agent.permissions.shell.words import Word

__all__ = ["is_read_only", "is_read_only_command"]

_SINKS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})

_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SED_TEXT = r"(?:(?!(?P=mark))[^\\\n]|\\.)*(?P=mark)"
_SED_SUBSTITUTE = rf"s(?P<mark>[/|#,@:%]){_SED_TEXT}{_SED_TEXT}[gpIi0-9]*"
_SED_RANGE = rf"{_SED_ADDRESS}(?:,(?:{_SED_ADDRESS}|[+~]\d+))?\s*(?:!\s*)?"
_SED = AcceptedOptions(flags="nErsuz", valued="e", words="--quiet --silent --regexp-extended --expression=")
_DATE = AcceptedOptions(
    flags="uRI", valued="d", words="--utc --iso-8601 --iso-8601= --rfc-3339= --rfc-email --date="
)
_SED_COMMAND = re.compile(rf"\s*(?:{_SED_RANGE})?(?:[pdqQDPNnhHgGxl=]|{_SED_SUBSTITUTE})\s*(?:[;\n]\s*|$)")


def is_read_only(command: str) -> bool:
    """Whether a command line is known to change nothing. False when in doubt.

    Programs are known by their bare name; that a name on PATH is the usual program is taken for granted.
    """
    line = analyse(command)
    if line.doubts or line.functions or not line.parts or _enters_repository(line):
        return False
    return all(is_read_only_command(part.command) for part in line.parts if part.needs_allow) and all(
        _is_plain(command) for command in line.commands
    )


def is_read_only_command(command: SimpleCommand) -> bool:
    """The same of one simple command."""
    if not _is_plain(command):
        return False
    if not command.words:
        return True
    program = command.usual_program
    if program is None:
        return False
    arguments = command.words[1:]
    if program in VERSION_ONLY:
        return [word.text for word in arguments] == ["--version"]
    if program in ANY_OPTIONS:
        return all(word.kind != "dynamic" for word in arguments)
    if program in PROGRAMS:
        return PROGRAMS[program].read(arguments) is not None
    special = _SPECIAL.get(program)
    return special is not None and special(arguments)


def _is_plain(command: SimpleCommand) -> bool:
    return all(is_inert(assignment) for assignment in command.assignments) and all(
        _is_harmless(redirect) for redirect in command.redirects
    )


def _is_harmless(redirect: Redirect) -> bool:
    if redirect.target.kind == "dynamic" and (redirect.reads or redirect.writes):
        return False
    if redirect.writes:
        return redirect.target.text in _SINKS
    return not redirect.target.text.startswith(("/dev/tcp/", "/dev/udp/"))


def _enters_repository(line: CommandLine) -> bool:
    """git in another folder may find a configuration there that makes it run programs."""
    programs = {command.program for command in line.commands}
    return "cd" in programs and "git" in programs


def _git(words: Sequence[Word]) -> bool:
    rest = list(words)
    while rest and rest[0].text in ("--no-pager", "-P", "--no-optional-locks"):
        rest.pop(0)
    for length in (1, 2):
        name = " ".join(word.text for word in rest[:length])
        if name in GIT and all(word.kind == "literal" for word in rest[:length]):
            return GIT[name].read(rest[length:]) is not None
    return False


def _sed(words: Sequence[Word]) -> bool:
    """With a script that only prints or substitutes: others can write files and run programs."""
    arguments = _SED.read(words)
    if arguments is None:
        return False
    scripts = arguments.values("-e", "--expression") or list(arguments.operands[:1])
    return bool(scripts) and all(_is_printing(script) for script in scripts)


def _is_printing(script: str) -> bool:
    position = 0
    while position < len(script):
        found = _SED_COMMAND.match(script, position)
        if not found:
            return False
        position = found.end()
    return True


def _date(words: Sequence[Word]) -> bool:
    """Without an operand that sets the clock."""
    arguments = _DATE.read(words)
    return arguments is not None and all(operand.startswith("+") for operand in arguments.operands)


def _printf(words: Sequence[Word]) -> bool:
    """Without -v, which assigns a variable."""
    return all(word.kind != "dynamic" for word in words) and not (words and words[0].text.startswith("-"))


def _test(words: Sequence[Word]) -> bool:
    """Without subscripts, which the shell evaluates, commands in them included."""
    return all(
        word.kind == "number" or (word.kind != "dynamic" and not {"[", "$", "`"} & set(word.text))
        for word in words
    )


_SPECIAL: dict[str, Callable[[Sequence[Word]], bool]] = {
    "[": _test,
    "[[": _test,
    "date": _date,
    "git": _git,
    "printf": _printf,
    "sed": _sed,
    "test": _test,
}
