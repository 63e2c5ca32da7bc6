"""Allow, ask and deny rules, and which of them decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from pilothouse_agent.permissions.command_patterns import CommandPattern, Match
from pilothouse_agent.permissions.layers import Access, Effect, Layer

if TYPE_CHECKING:
    from pilothouse_agent.permissions.shell.script import SimpleCommand

__all__ = ["CommandRule", "PathRule", "Rule", "Rules", "Ruling", "ToolRule"]


@dataclass(frozen=True, slots=True)
class ToolRule:
    effect: Effect
    tool: str
    """A tool's name, or a pattern with `*`."""
    layer: Layer

    def __str__(self) -> str:
        return f"the {self.layer} rule for the tool `{self.tool}`"


@dataclass(frozen=True, slots=True)
class CommandRule:
    effect: Effect
    pattern: CommandPattern
    layer: Layer

    def __str__(self) -> str:
        return f"the {self.layer} rule for commands `{self.pattern}`"


@dataclass(frozen=True, slots=True)
class PathRule:
    effect: Effect
    pattern: str
    expression: re.Pattern[str]
    """The pattern, compiled for absolute paths."""
    access: frozenset[Access]
    layer: Layer

    def __str__(self) -> str:
        return f"the {self.layer} rule for paths `{self.pattern}`"


Rule: TypeAlias = ToolRule | CommandRule | PathRule


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one rule says about one command, path or tool."""

    effect: Effect
    rule: Rule
    uncertain: bool = False
    """A deny rule that may match or not, which therefore asks."""

    @property
    def specific(self) -> bool:
        """By what is done, not merely by which tool does it."""
        return not isinstance(self.rule, ToolRule)


class Rules:
    """All rules of all layers.

    A deny holds, whatever its layer. Otherwise rules for commands and paths come before rules for
    whole tools, then the nearest layer that has one decides, and within a layer ask beats allow.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules = tuple(rules)

    def for_tool(self, tool: str) -> Ruling | None:
        return _decisive(self._tool_rulings(tool))

    def for_command(self, tool: str, command: SimpleCommand) -> Ruling | None:
        return _decisive([*self._command_rulings(command), *self._tool_rulings(tool)])

    def hidden(self) -> tuple[list[str], list[str]]:
        """Patterns of the paths that may not be read unasked by rule, and of those that may."""
        readable = [r for r in self._rules if isinstance(r, PathRule) and "read" in r.access]
        return (
            [rule.pattern for rule in readable if rule.effect != "allow"],
            [rule.pattern for rule in readable if rule.effect == "allow"],
        )

    def for_path(self, tool: str | None, path: str, access: Iterable[Access]) -> Ruling | None:
        """An allow rule must cover all kinds of access, others one. Without a tool only path rules count."""
        by_tool = () if tool is None else self._tool_rulings(tool)
        return _decisive([*self._path_rulings(path, frozenset(access)), *by_tool])

    def denial_of(self, command: SimpleCommand) -> Ruling | None:
        """A deny rule for commands that certainly matches."""
        rulings = self._command_rulings(command)
        return next((ruling for ruling in rulings if ruling.effect == "deny"), None)

    def _tool_rulings(self, tool: str) -> Iterator[Ruling]:
        for rule in self._rules:
            if isinstance(rule, ToolRule) and fnmatchcase(tool, rule.tool):
                yield Ruling(rule.effect, rule)

    def _command_rulings(self, command: SimpleCommand) -> Iterator[Ruling]:
        for rule in self._rules:
            if not isinstance(rule, CommandRule):
                continue
            if rule.effect == "allow":
                if rule.pattern.covers(command):
                    yield Ruling("allow", rule)
            elif match := rule.pattern.meets(command):
                uncertain = match is Match.MAYBE and rule.effect == "deny"
                yield Ruling("ask" if match is Match.MAYBE else rule.effect, rule, uncertain=uncertain)

    def _path_rulings(self, path: str, access: frozenset[Access]) -> Iterator[Ruling]:
        for rule in self._rules:
            if not isinstance(rule, PathRule) or not rule.expression.fullmatch(path):
                continue
            if access <= rule.access if rule.effect == "allow" else access & rule.access:
                yield Ruling(rule.effect, rule)


def _decisive(rulings: Iterable[Ruling]) -> Ruling | None:
    return max(
        rulings,
        key=lambda ruling: (
            ruling.effect == "deny",
            ruling.uncertain,
            ruling.specific,
            ruling.rule.layer,
            ruling.effect == "ask",
        ),
        default=None,
    )
