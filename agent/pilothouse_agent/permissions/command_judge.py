"""Judges a command line: deny list, every simple command against the rules, every path it names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilothouse_agent.permissions.deny_list import forbidden
from pilothouse_agent.permissions.finding import ALLOWED, Finding, visible
from pilothouse_agent.permissions.layers import Access
from pilothouse_agent.permissions.path_judge import PathJudge
from pilothouse_agent.permissions.read_only import is_read_only, is_read_only_command
from pilothouse_agent.permissions.rules import Rules
from pilothouse_agent.permissions.shell.commands import CommandLine, Part, analyse, is_inert
from pilothouse_agent.permissions.shell.paths import absolute_path, named_paths
from pilothouse_agent.permissions.shell.script import Assignment, Redirect, SimpleCommand
from pilothouse_agent.permissions.shell.words import Word

__all__ = ["CommandJudge"]

_LONGEST_SHOWN = 80
_SHELL_VARIABLE = re.compile(r"[a-z][a-z0-9]*")
_CODE = re.compile(r"\$\(|`")


class CommandJudge:
    def __init__(self, rules: Rules, paths: PathJudge, *, read_only_commands: bool) -> None:
        self._rules = rules
        self._paths = paths
        self._read_only_commands = read_only_commands

    def judge(self, tool: str, command: str) -> list[Finding]:
        """A finding for everything in the line; at least one."""
        line = analyse(command)
        reason = forbidden(line, home=self._paths.home)
        if reason is not None:
            return [Finding("deny", f"{reason}, which is never done here", grave=True)]
        free = self._read_only_commands and is_read_only(command)
        return [
            *self._denied_guesses(line),
            *(Finding("ask", f"it cannot be judged because of {doubt}", grave=True) for doubt in line.doubts),
            *(finding for part in line.parts for finding in self._judge_part(tool, part, free=free)),
        ] or [Finding("ask", "it holds no command")]

    def _denied_guesses(self, line: CommandLine) -> Iterator[Finding]:
        for guess in line.guesses:
            if ruling := self._rules.denial_of(guess):
                yield Finding.of(ruling)
            findings = self._judge_words(SimpleCommand((Word(""), *guess.words[:1])))
            yield from (finding for finding in findings if finding.effect == "deny")

    def _judge_part(self, tool: str, part: Part, *, free: bool) -> Iterator[Finding]:
        command = part.command
        yield self._judge_command(tool, part, free=free)
        for assignment in command.assignments:
            if not _is_harmless(assignment, alone=not command.words):
                yield Finding("ask", f"it sets `{visible(assignment.name)}`, which other programs may obey")
        for redirect in command.redirects:
            yield self._judge_redirect(tool, redirect)
        yield from self._judge_words(command)

    def _judge_words(self, command: SimpleCommand) -> Iterator[Finding]:
        access: tuple[Access, ...] = ("read",) if is_read_only_command(command) else ("read", "write")
        for path in named_paths(command, cwd=self._paths.cwd, home=self._paths.home):
            finding = self._paths.judge(None, path, *access)
            # That a word may name a file of the workspace says nothing new; rules and boundaries do.
            if not finding.plain_change:
                yield finding

    def _judge_command(self, tool: str, part: Part, *, free: bool) -> Finding:
        command = part.command
        if not command.words:
            return ALLOWED
        ruling = self._rules.for_command(tool, command)
        if ruling and ruling.effect != "allow":
            return Finding.of(ruling)
        if ruling or free or not part.needs_allow:
            return ALLOWED
        if self._read_only_commands and is_read_only_command(command) and command.program != "git":
            return ALLOWED
        return Finding("ask", f"no rule allows `{_shown(command)}`")

    def _judge_redirect(self, tool: str, redirect: Redirect) -> Finding:
        if redirect.duplicates or not (redirect.reads or redirect.writes):
            return ALLOWED
        text = redirect.target.text
        if redirect.target.kind != "literal":
            return Finding("ask", f"only the shell will know the file in `{visible(text)}`", grave=True)
        path = absolute_path(text, cwd=self._paths.cwd, home=self._paths.home)
        if path is None:
            return ALLOWED
        return self._paths.judge(tool, path, "write" if redirect.writes else "read")


def _is_harmless(assignment: Assignment, *, alone: bool) -> bool:
    """Variables of the line's own are, as long as no program can take them for its settings."""
    if is_inert(assignment):
        return True
    own = _SHELL_VARIABLE.fullmatch(assignment.name) is not None
    return own and alone and not _CODE.search(assignment.value.text)


def _shown(command: SimpleCommand) -> str:
    text = visible(" ".join(word.text for word in command.words)).replace("\n", " ")
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
