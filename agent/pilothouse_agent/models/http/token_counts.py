"""Reading the numbers of tokens that providers report, each under names of its own."""

from __future__ import annotations

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["Path", "first_count"]

Path = tuple[str, ...]


def first_count(value: JsonObject, *paths: Path) -> int | None:
    """The number at the first path that leads to one; None where none was reported."""
    found = (_at(value, path) for path in paths)
    return next((number for number in found if number is not None), None)


def _at(value: JsonValue, path: Path) -> int | None:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
