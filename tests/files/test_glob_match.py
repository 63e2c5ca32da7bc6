"""Globs of EditorConfig: what fits, what does not, and patterns made to take for ever."""

from __future__ import annotations

import pytest

from pilothouse_agent.files.glob_match import glob_matches, last_fitting

FITS = [
    ("*", "a.py"),
    ("*.py", "x/a.py"),
    ("*.{py,js}", "x/a.js"),
    ("src/*.py", "src/a.py"),
    ("src/**.py", "src/b/a.py"),
    ("**/a.py", "a.py"),
    ("lib/**/a/*.c", "lib/a/b.c"),
    ("lib/**/a/*.c", "lib/x/y/a/b.c"),
    ("/a.py", "a.py"),
    ("{1..10}.txt", "7.txt"),
    ("{-3..3}.txt", "-2.txt"),
    ("[ab]?.c", "ax.c"),
    ("[a-c]z", "bz"),
    ("[!a-c]z", "dz"),
    ("{a,b{c,d}}.x", "bd.x"),
    ("{,x}a", "a"),
    ("{a}.x", "{a}.x"),
    ("a{b", "a{b"),
    ("[a/b", "[a/b"),
    ("a\\*", "a*"),
    ("{a\\,b,c}", "a,b"),
    ("straße.*", "straße.txt"),
]
FITS_NOT = [
    ("*.py", "a.pyc"),
    ("src/*.py", "src/b/a.py"),
    ("/a.py", "b/a.py"),
    ("{1..10}.txt", "11.txt"),
    ("{1..10}.txt", "a.txt"),
    ("[!ab].c", "a.c"),
    ("?", ""),
    ("a?b", "a/b"),
    ("a[!x]b", "a/b"),
    ("a\\*", "ab"),
    ("a.c", "abc"),
]
BOMBS = {
    "any folders": ("**/" * 120 + "b", "a/" * 400 + "a"),
    "many stars": ("*a" * 120 + "b", "a" * 255),
    "many choices": ("{a,aa}" * 60, "a" * 255),
    "choices in choices": ("{" * 100 + "a,b" + "}" * 100, "a" * 255),
    "stars in choices": ("{*a,*b}" * 30 + "/x", "a" * 255 + "/y"),
    "deep stars": ("**a" * 80, "a/" * 200 + "b"),
}


@pytest.mark.covers("R237")
@pytest.mark.parametrize(("pattern", "path"), FITS)
def test_a_pattern_fits_what_it_says(pattern: str, path: str) -> None:
    assert glob_matches(pattern, path)


@pytest.mark.covers("R237")
@pytest.mark.parametrize(("pattern", "path"), FITS_NOT)
def test_a_pattern_fits_nothing_else(pattern: str, path: str) -> None:
    assert not glob_matches(pattern, path)


@pytest.mark.covers("R237")
@pytest.mark.parametrize("bomb", BOMBS)
def test_no_pattern_takes_long(bomb: str) -> None:
    pattern, path = BOMBS[bomb]
    assert not glob_matches(pattern, path)


@pytest.mark.covers("R237")
def test_the_last_rule_that_fits_counts() -> None:
    rules = [("*", "all"), ("*.txt", "text"), ("a.*", "a")]
    assert [last_fitting(rules, path) for path in ("b.c", "b.txt", "x/a.txt")] == ["all", "text", "a"]


@pytest.mark.covers("R237")
def test_rules_without_end_are_given_up() -> None:
    assert last_fitting([("*", "all"), *[("*a" * 500, "none")] * 10_000], "a" * 255 + "b") is None
