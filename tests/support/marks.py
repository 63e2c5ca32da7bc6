"""Which ids the tests name, read from their source without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["covered"]

TESTS = Path(__file__).parents[1]
_HEAD = re.compile(r"(?:W\d+ )+")


@cache
def covered() -> dict[str, list[str]]:
    """For each id the tests that name it, as `file:line`.

    A test names ids in its `covers` mark; a case of a table also at the head of its name: `W22 no index`.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name, line in _marked(node) if isinstance(node, ast.Call) else _heads(node):
                found.setdefault(name, []).append(f"{path.relative_to(TESTS)}:{line}")
    return found


def _marked(call: ast.Call) -> Iterator[tuple[str, int]]:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "covers":
        for argument in call.args:
            if isinstance(argument, ast.Constant):
                yield str(argument.value), call.lineno


def _heads(node: ast.AST) -> Iterator[tuple[str, int]]:
    for key in node.keys if isinstance(node, ast.Dict) else ():
        name = key.value if isinstance(key, ast.Constant) else None
        if isinstance(key, ast.Constant) and isinstance(name, str) and (head := _HEAD.match(name)):
            yield from ((found, key.lineno) for found in head[0].split())
