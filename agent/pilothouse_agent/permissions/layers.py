"""Where settings and rules come from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from pilothouse_agent.kernel.json_types import JsonObject

__all__ = ["Layer", "PermissionSource"]


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
class PermissionSource:
    """The `permissions` object of one layer.

    `tools` maps names, `commands` and `paths` map patterns to `allow`, `ask` or `deny`; a path's value may
    be `{"read": ..., "write": ...}`. `readOnlyCommands` is `allow` or `ask`.
    """

    layer: Layer
    config: JsonObject
