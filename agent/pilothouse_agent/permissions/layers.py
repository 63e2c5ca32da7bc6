"""Where settings and rules come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from pilothouse_agent.kernel.json_types import JsonObject

__all__ = ["Access", "Effect", "Layer", "PermissionEntries", "PermissionSource"]

Effect = Literal["allow", "ask", "deny"]
Access = Literal["read", "write"]


class Layer(IntEnum):
    """The nearest last: it wins."""

    USER = 1
    PROJECT = 2
    ENVIRONMENT = 3
    EDITOR = 4
    COMMAND_LINE = 5

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")

    @property
    def comes_from_workspace(self) -> bool:
        """Whoever wrote the files of a workspace may have written it; editors read settings from there."""
        return self in (Layer.PROJECT, Layer.EDITOR)


@dataclass(frozen=True, slots=True)
class PermissionEntries:
    """What the setting `permissions` may hold."""

    tools: dict[str, Effect] = field(default_factory=dict[str, Effect])
    """By name, or by a pattern with `*`."""
    commands: dict[str, Effect] = field(default_factory=dict[str, Effect])
    """By the words that a command begins with."""
    paths: dict[str, Effect | dict[Access, Effect]] = field(
        default_factory=dict[str, Effect | dict[Access, Effect]]
    )
    """By patterns as in ignore files."""
    readOnlyCommands: Literal["allow", "ask"] = "ask"  # noqa: N815
    """Whether commands that change nothing run without a question."""


@dataclass(frozen=True, slots=True)
class PermissionSource:
    """The `permissions` object of one layer: `PermissionEntries`, as far as whoever wrote it got it right."""

    layer: Layer
    config: JsonObject
