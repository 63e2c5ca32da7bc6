"""Reads the `permissions` settings of every layer into one pipeline."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.command_patterns import CommandPattern
from pilothouse_agent.permissions.layers import Access, Effect, Layer, PermissionEntries, PermissionSource
from pilothouse_agent.permissions.path_patterns import compile_pattern
from pilothouse_agent.permissions.pipeline import Pipeline
from pilothouse_agent.permissions.rules import CommandRule, PathRule, Rule, Rules, ToolRule
from pilothouse_agent.permissions.suggestions import did_you_mean

__all__ = ["pipeline_from"]

_SECTIONS = tuple(section.name for section in fields(PermissionEntries))
_LONGEST_TOOL = 200
_EFFECTS: dict[str, Effect] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_ACCESS: dict[str, frozenset[Access]] = {
    "": frozenset({"read", "write"}),
    "read": frozenset({"read"}),
    "write": frozenset({"write"}),
}


def pipeline_from(
    sources: Iterable[PermissionSource],
    *,
    folders: Sequence[str],
    tools: Collection[str],
    trusted: bool,
    mode: ApprovalMode = ApprovalMode.ASK,
    home: str | None = None,
    cwd: str | None = None,
) -> tuple[Pipeline, list[str]]:
    """The pipeline, and a sentence for everything in the settings that has no effect.

    In a workspace that is not `trusted`, what came from the workspace can forbid but not allow.
    """
    home = home or os.path.expanduser("~")
    reader = _Reader(folders, tuple(tools), home)
    for source in sorted(sources, key=lambda source: source.layer):
        reader.read(source, may_loosen=trusted or not source.layer.comes_from_workspace)
    pipeline = Pipeline(
        folders,
        rules=Rules(reader.rules),
        mode=mode,
        read_only_commands=reader.read_only_commands,
        home=home,
        cwd=cwd,
    )
    return pipeline, reader.warnings


@dataclass(slots=True)
class _Reader:
    folders: Sequence[str]
    tools: tuple[str, ...]
    home: str
    rules: list[Rule] = field(default_factory=list[Rule])
    warnings: list[str] = field(default_factory=list[str])
    read_only_commands: bool = False

    def read(self, source: PermissionSource, *, may_loosen: bool) -> None:
        ignored: list[str] = []
        for section, value in source.config.items():
            if section == "readOnlyCommands":
                self._read_commands_switch(source.layer, value, ignored, may_loosen=may_loosen)
                continue
            if section not in _SECTIONS:
                hint = did_you_mean(section, _SECTIONS)
                self._warn(source.layer, section, f"there is no such section.{hint}")
                continue
            for name, effect, access in self._entries(source.layer, section, value):
                if effect == "allow" and not may_loosen:
                    ignored.append(name)
                else:
                    self._add(section, name, effect, access, source.layer)
        if ignored:
            self.warnings.append(
                f"The {source.layer} settings allow {', '.join(ignored)}; that is ignored because this "
                "workspace is not trusted. Trust the workspace to make it count."
            )

    def _read_commands_switch(
        self, layer: Layer, value: JsonValue, ignored: list[str], *, may_loosen: bool
    ) -> None:
        if value not in ("allow", "ask"):
            self._warn(layer, "readOnlyCommands", "expected allow or ask.")
        elif value == "allow" and not may_loosen:
            ignored.append("readOnlyCommands")
        else:
            self.read_only_commands = value == "allow"

    def _entries(
        self, layer: Layer, section: str, value: JsonValue
    ) -> Iterator[tuple[str, Effect, frozenset[Access]]]:
        if not isinstance(value, dict):
            self._warn(layer, section, "expected a table from names to allow, ask or deny.")
            return
        for name, entry in value.items():
            parts = entry if section == "paths" and isinstance(entry, dict) else {"": entry}
            for access, word in parts.items():
                effect = _EFFECTS.get(word) if isinstance(word, str) else None
                if effect is None or access not in _ACCESS:
                    self._warn(layer, f"{section}.{name}", "expected allow, ask or deny.")
                else:
                    yield name, effect, _ACCESS[access]

    def _add(self, section: str, name: str, effect: Effect, access: frozenset[Access], layer: Layer) -> None:
        try:
            self.rules.append(self._rule(section, name, effect, access, layer))
        except ValueError as error:
            self._warn(layer, f"{section}.{name}", f"{error}.")

    def _rule(self, section: str, name: str, effect: Effect, access: frozenset[Access], layer: Layer) -> Rule:
        if section == "commands":
            return CommandRule(effect, CommandPattern.parse(name), layer)
        if section == "tools":
            self._check_tool(name, layer)
            if len(name) > _LONGEST_TOOL:
                raise ValueError(f"it is longer than {_LONGEST_TOOL:,} characters")
            return ToolRule(effect, name, layer)
        expression = compile_pattern(
            name, folders=self.folders, home=self.home, ignore_case=effect != "allow"
        )
        return PathRule(effect, name, expression, access, layer)

    def _check_tool(self, name: str, layer: Layer) -> None:
        if "*" not in name and name not in self.tools:
            self._warn(layer, f"tools.{name}", f"there is no such tool.{did_you_mean(name, self.tools)}")

    def _warn(self, layer: Layer, where: str, what: str) -> None:
        self.warnings.append(f"In the {layer} settings, permissions.{where}: {what}")
