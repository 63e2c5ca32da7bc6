"""Globs for paths: what they match, and that no pattern takes long."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.globs import alternatives, glob_source

NAMES = st.sampled_from(["**", "*", "a", "b", "a*", "*a", "*b*", "a*b", "a*b*", "?", "a?*", "[ab]*", "[!a]b"])
PATHS = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6).map("/".join)
LONG_PATHS = ["a" * 4_000, "a/" * 2_000 + "c", "ab" * 2_000 + "c", "/".join(["a" * 200] * 20)]


def matches(pattern: str, path: str) -> bool:
    sources = [glob_source(each) for each in alternatives(pattern)]
    return any(re.fullmatch(source, path) for source in sources)


@given(st.lists(NAMES, min_size=1, max_size=6).map("/".join), PATHS)
@settings(max_examples=500, deadline=None, database=None)
def test_a_glob_matches_what_trying_every_way_finds(pattern: str, path: str) -> None:
    assert matches(pattern, path) == _tried(tuple(pattern.split("/")), tuple(path.split("/")))


@cache
def _tried(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not pattern or not path:
        return pattern == path
    first, rest = pattern[0], pattern[1:]
    if first != "**":
        return _name_fits(first, path[0]) and _tried(rest, path[1:])
    return not rest or _tried(rest, path) or _tried(pattern, path[1:])


def _name_fits(pattern: str, name: str) -> bool:
    return re.fullmatch(pattern.replace("*", ".*").replace("?", ".").replace("!", "^"), name) is not None


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("src/**.ts", ["src/a.ts", "src/x/b.ts"]),
        ("src/a**", ["src/a.ts", "src/ab/c"]),
        ("src/a**c", ["src/ab/c"]),
        ("src/{a.{ts,js},x/**}", ["src/a.ts", "src/x/b.ts"]),
        ("src/a{,b/c}", ["src/ab/c"]),
        (r"src/\{a\}", ["src/{a}"]),
        ("src/[{]a[}]", ["src/{a}"]),
    ],
)
def test_braces_and_stars_across_folders_stand_for_several_patterns(
    pattern: str, matching: list[str]
) -> None:
    paths = ["src/a.ts", "src/x/b.ts", "src/ab/c", "src/{a}"]
    assert [path for path in paths if matches(pattern, path)] == matching


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 900 + "*b",
        "?*" * 900 + "b",
        "**/a/" * 300 + "b",
        "**/*a/" * 300 + "*b",
        "x/a" + "**a" * 7,
        "{a,a}" * 8 + "b",
        "[a" * 900,
        r"[\a" * 600,
        "[" * 1_900,
        "[" * 900 + "]" * 900,
    ],
)
def test_no_pattern_takes_long_on_any_path(pattern: str) -> None:
    assert [path for path in LONG_PATHS if matches(pattern, path)] == []


def test_a_glob_may_stand_for_50_000_characters_and_no_more() -> None:
    letters, digits = ",".join("abcdefghijklmnopqrstuvwxy"), ",".join("0123456789")
    largest = f"{{{letters}}}{{{digits}}}{'x' * 198}"

    assert [len(alternatives(largest)), sum(map(len, alternatives(largest)))] == [250, 50_000]
    with pytest.raises(ValueError, match=r"^stands for more than 256 patterns; "):
        alternatives(largest + "x")


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("{a,b}" * 100, "stands for more than 256 patterns; give fewer alternatives"),
        ("x/" + "a**" * 100 + "b", "stands for more than 256 patterns; give fewer alternatives"),
        ("{" * 1_900, "has an opening brace without its partner; escape it with a backslash"),
        ("{a," * 600, "has an opening brace without its partner; escape it with a backslash"),
        ("a}", "has a closing brace without its partner; escape it with a backslash"),
        ("[" * 1_000_000, "is longer than 2,000 characters"),
        ("[z-a]", "has a range of characters that runs backwards"),
        ("[[:alpha:]]*", "has a named class such as [:alpha:], which is not known here; write [a-zA-Z]"),
    ],
)
def test_what_is_no_glob_of_ours_is_named(pattern: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}$"):
        matches(pattern, "a")
