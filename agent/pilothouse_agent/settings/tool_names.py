"""The tools a session may have, by name."""

from __future__ import annotations

__all__ = ["OPTIONAL_TOOL_NAMES", "TOOL_NAMES"]

TOOL_NAMES = (
    "read_file",
    "write_file",
    "edit_file",
    "move_file",
    "delete_file",
    "glob_file",
    "grep",
    "bash",
    "todo_write",
    "complete_step",
)
"""What every session has."""

OPTIONAL_TOOL_NAMES = ("diagnostics", "ask_user")
"""What only some clients make possible; rules may name them all the same."""
