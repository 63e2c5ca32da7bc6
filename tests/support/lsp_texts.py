"""Texts that go wrong where lines, units and characters are taken for one another."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from pilothouse_server.client.positions import Encoding

__all__ = ["ENCODINGS", "borders", "texts"]

ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)

_PIECES = [
    *("\n", "\r\n", "\r", "\n", "\r\n"),
    *("a", "bc", " ", "x = 1", "\t", "\N{LATIN SMALL LETTER E WITH ACUTE}", "e\u0301", "\u20ac"),
    *("\U0001f60b", "\U0001f468\u200d\U0001f469", "\ufeff", "\ufffd"),
    *("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"),
]

texts = st.lists(st.sampled_from(_PIECES), max_size=24).map("".join)


def borders(text: str) -> list[int]:
    """Where a position may stand: not within CR LF."""
    return [i for i in range(len(text) + 1) if text[i - 1 : i + 1] != "\r\n" or i == 0]
