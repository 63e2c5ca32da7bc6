"""Glob patterns."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.search.glob_pattern import GlobPattern

PATHS = [
    "a.py",
    "b.PY",
    "src/a.py",
    "src/b.ts",
    "src/deep/er/a.py",
    "src/deep/a,b.txt",
    "docs/[x].md",
    ".env",
    "src.py/x",
]


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("*.py", ["a.py", "src/a.py", "src/deep/er/a.py"]),
        ("/*.py", ["a.py"]),
        ("./*.py", ["a.py"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/deep/er/a.py"]),
        ("**/a.py", ["a.py", "src/a.py", "src/deep/er/a.py"]),
        ("**/deep/**", ["src/deep/er/a.py", "src/deep/a,b.txt"]),
        ("deep/", ["src/deep/er/a.py", "src/deep/a,b.txt"]),
        ("src/deep/", ["src/deep/er/a.py", "src/deep/a,b.txt"]),
        ("src/", ["src/a.py", "src/b.ts", "src/deep/er/a.py", "src/deep/a,b.txt"]),
        ("*.{ts,md}", ["src/b.ts", "docs/[x].md"]),
        ("{docs,src}/*.{md,ts}", ["src/b.ts", "docs/[x].md"]),
        ("a,b.*", ["src/deep/a,b.txt"]),
        ("[ab].py", ["a.py", "src/a.py", "src/deep/er/a.py"]),
        ("[!b].py", ["a.py", "src/a.py", "src/deep/er/a.py"]),
        (r"\[x\].md", ["docs/[x].md"]),
        ("[[]x].md", ["docs/[x].md"]),
        ("?.ts", ["src/b.ts"]),
        ("!*.py", ["b.PY", "src/b.ts", "src/deep/a,b.txt", "docs/[x].md", ".env", "src.py/x"]),
        ("**", PATHS),
        ("*", PATHS),
        (".env", [".env"]),
    ],
)
def test_a_pattern_matches_as_in_an_ignore_file(pattern: str, matching: list[str]) -> None:
    assert [path for path in PATHS if GlobPattern(pattern).matches(path)] == matching


def test_case_can_be_ignored() -> None:
    assert GlobPattern("*.py", ignore_case=True).matches("b.PY")


@pytest.mark.parametrize("pattern", ["*.{py,ts", "a}", "[z-a]"])
def test_a_pattern_that_makes_no_sense_is_a_clear_error(pattern: str) -> None:
    with pytest.raises(ToolError, match=r"^The glob "):
        GlobPattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*.py", "*.py"),
        ("src/**/*.{ts,tsx}", "*.{ts,tsx}"),
        ("src/**", None),
        ("src/*", None),
        ("!*.py", None),
        ("{a/b,c}", None),
        ("[ab].py", None),
    ],
)
def test_a_first_choice_by_name_is_offered_only_where_it_is_safe(pattern: str, name: str | None) -> None:
    assert GlobPattern(pattern).name_filter == name
