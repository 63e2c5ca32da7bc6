"""How much of the house a reader has to hold in mind at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
MEDIAN_FILE = 120


def test_no_file_is_longer_than_a_reader_can_hold_in_mind() -> None:
    assert {path: lines for path, lines in _lengths().items() if lines > MOST_LINES_OF_A_FILE} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    assert [
        f"{path}: {function.name} has {lines} lines"
        for path in _files()
        for function in _functions(path)
        if (lines := _lines_of(function)) > MOST_LINES_OF_A_FUNCTION
    ] == []


def test_most_files_are_short() -> None:
    assert median(_lengths().values()) < MEDIAN_FILE


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _lengths() -> dict[Path, int]:
    return {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in _files()}


def _files() -> list[Path]:
    packages = (ROOT / "agent" / "pilothouse_agent", ROOT / "server")
    return sorted(path.relative_to(ROOT) for package in packages for path in package.rglob("*.py"))
