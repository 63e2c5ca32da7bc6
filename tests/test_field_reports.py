"""The table of field reports says what is true: covered where a test names the report, and only there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from field_reports import FIELD_REPORTS
from support.marks import covered

SHARED = Path(__file__).parents[2] / "shared"
LISTS = [SHARED / "field-reports.md", SHARED / "field-reports-2.md"]


def test_the_table_has_every_report_of_the_lists() -> None:
    if missing := [path.name for path in LISTS if not path.exists()]:
        pytest.skip(f"not beside this repository: {', '.join(missing)}")
    text = "\n".join(path.read_text(encoding="utf-8") for path in LISTS)
    listed = re.findall(r"^### (R\d+) ", text, re.MULTILINE)

    assert list(FIELD_REPORTS) == listed


def test_an_entry_is_covered_or_says_what_it_waits_for() -> None:
    odd = {name: entry for name, entry in FIELD_REPORTS.items() if not re.match(r"covered$|later: \w", entry)}

    assert odd == {}


def test_what_the_table_calls_covered_is_named_by_a_test_and_the_rest_is_not() -> None:
    said = {name for name, entry in FIELD_REPORTS.items() if entry == "covered"}
    named = {name for name in covered() if re.fullmatch(r"R\d+", name)}

    assert {"without a test": said - named, "covered after all": named - said} == {
        "without a test": set(),
        "covered after all": set(),
    }
