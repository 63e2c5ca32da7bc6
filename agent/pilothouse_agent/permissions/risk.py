"""How much a wrong yes to a command would cost."""

from __future__ import annotations

from pilothouse_agent.kernel.tooling import Risk
from pilothouse_agent.permissions.command_patterns import CommandPattern, Match
from pilothouse_agent.permissions.read_only import is_read_only
from pilothouse_agent.permissions.shell.commands import CommandLine, analyse

__all__ = ["command_risk"]

_GRAVE = tuple(
    CommandPattern.parse(text)
    for text in (
        "rm",
        "rmdir",
        "unlink",
        "shred",
        "truncate",
        "dd",
        "find * -delete",
        "git clean",
        "git reset --hard",
        "git push --force",
        "git push --mirror",
        "sudo",
        "doas",
        "chmod -R",
        "chown -R",
        "kill",
        "pkill",
        "killall",
        "shutdown",
        "reboot",
    )
)


def command_risk(command: str) -> Risk:
    line = analyse(command)
    if line.doubts or _is_grave(line):
        return "high"
    return "low" if is_read_only(command) else "medium"


def _is_grave(line: CommandLine) -> bool:
    return any(pattern.meets(command) is not Match.NO for pattern in _GRAVE for command in line.commands)
