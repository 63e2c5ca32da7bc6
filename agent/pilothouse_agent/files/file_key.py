"""By what a path is compared where two spellings may name one file."""

from __future__ import annotations

import sys
import unicodedata

__all__ = ["FOLDS_CASE", "file_key"]

FOLDS_CASE = sys.platform in ("darwin", "win32")
"""Whether this platform's names that differ only in case or in composed letters are one file."""


def file_key(path: str, *, fold_case: bool = FOLDS_CASE) -> str:
    """Equal for two real paths that are one file."""
    return unicodedata.normalize("NFC", path).casefold() if fold_case else path
