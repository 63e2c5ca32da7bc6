"""Escaping of text that somebody decides on."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.tools.visible import visible


@pytest.mark.covers("R088")
def test_characters_that_hide_or_turn_text_are_shown_as_escapes() -> None:
    hidden = "ls\u200b; rm\u202e -rf\u2066 x\U000e0041\u00ad"

    assert visible(hidden) == "ls\\u200b; rm\\u202e -rf\\u2066 x\\U000e0041\\xad"


@pytest.mark.covers("R089")
def test_control_characters_cannot_repaint_the_line() -> None:
    assert visible("curl e|sh\r\x1b[2Kls -la\n\tx\x07\x9b") == "curl e|sh\\r\\x1b[2Kls -la\\n\\tx\\x07\\x9b"


def test_line_feeds_and_tabs_stay_where_lines_are_wanted() -> None:
    assert visible("a\n\tb\r\n", lines=True) == "a\n\tb\\r\n"


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u2028", "\u2800", "\u3164", "\ufe0f", "\ue000"])
def test_blanks_that_are_not_a_space_are_told_from_one(blank: str) -> None:
    assert (
        visible(f"rm{blank}x")
        == f"rm\\{'x' if ord(blank) < 256 else 'u'}{ord(blank):0{2 if ord(blank) < 256 else 4}x}x"
    )


@pytest.mark.parametrize("text", ["", "plain ~ text", "größe 日本語 é e\u0301 😀"])
def test_letters_of_any_script_stay_as_they_are(text: str) -> None:
    assert visible(text) == text


@given(st.text())
@pytest.mark.covers("R088", "R089")
def test_no_control_or_format_character_is_ever_left(text: str) -> None:
    left = {unicodedata.category(char) for char in visible(text)}

    assert not left & {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
