"""The `covers` marks of all tests, read from their source without running anything."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

__all__ = ["covered"]

TESTS = Path(__file__).parents[1]


@cache
def covered() -> dict[str, list[str]]:
    """For each id the tests that name it, as `file:line`. Marks made from a table are not seen."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "covers"
            ):
                place = f"{path.relative_to(TESTS)}:{node.lineno}"
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        found.setdefault(str(argument.value), []).append(place)
    return found
