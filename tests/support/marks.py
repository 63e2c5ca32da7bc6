"""The `covers` marks of all tests, read from their source without running anything."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

__all__ = ["covered"]

TESTS = Path(__file__).parents[1]


@cache
def covered() -> dict[str, list[str]]:
    """For each id the tests that name it, as `file:line`."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.covers":
                for covered_id in node.args:
                    assert isinstance(covered_id, ast.Constant), f"{path}:{node.lineno}: not a literal"
                    place = f"{path.relative_to(TESTS)}:{node.lineno}"
                    found.setdefault(str(covered_id.value), []).append(place)
    return found
