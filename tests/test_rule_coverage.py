"""Every rule of kernel.md and every quirk of servers is pinned by a test; no test names another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from field_reports import FIELD_REPORTS
from support.marks import covered

SHARED = Path(__file__).parents[2] / "shared"
COUNTS = {"B": 5, "S": 3, "A": 8, "L": 9, "E": 6, "T": 10, "Q": 4, "F": 6, "P": 4}
SESSION_RULES = [f"{letter}{number}" for letter, count in {"J": 13}.items() for number in range(1, count + 1)]
"""Of sessions.md, as far as they are built."""
RULES = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
SCENARIOS = [f"K{number}" for number in range(1, 141) if number not in (40, 54)]
QUIRKS = [
    f"W{number}"
    for first, last in ((1, 43), (50, 58), (60, 67), (100, 142), (160, 170))
    for number in range(first, last + 1)
]
"""What servers do in answers, what they take in requests, how they fail: numbered as in quirks.md."""


def listed(file: str, pattern: str) -> list[str]:
    """Each once, in the order of the file."""
    path = SHARED / file
    if not path.exists():
        pytest.skip(f"{file} is not beside this repository")
    return list(dict.fromkeys(re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)))


def test_the_rules_are_those_of_the_contract() -> None:
    assert sorted(RULES) == sorted(listed("kernel.md", r"^- ([A-Z]\d+) "))


def test_the_scenarios_are_those_of_their_list() -> None:
    numbers = listed("kernel-scenarios.md", r"(?:^|\. )(\d+)\. ")

    assert sorted(SCENARIOS) == sorted(f"K{number}" for number in numbers)


def test_the_quirks_are_those_of_their_list() -> None:
    assert [f"W{number}" for number in listed("streams/quirks.md", r"^\| (\d+) \|")] == QUIRKS


def test_every_rule_is_pinned_by_a_test() -> None:
    assert [rule for rule in RULES if rule not in covered()] == []


def test_every_quirk_is_pinned_by_a_test() -> None:
    assert [quirk for quirk in QUIRKS if quirk not in covered()] == []


def test_no_test_names_an_unknown_id() -> None:
    known = {*RULES, *SESSION_RULES, *SCENARIOS, *QUIRKS, *FIELD_REPORTS}

    assert {name: places for name, places in covered().items() if name not in known} == {}
