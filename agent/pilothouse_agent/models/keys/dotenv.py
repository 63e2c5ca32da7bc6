"""Keys out of a `.env` file: only variables that hold keys are taken, nothing else of it counts."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from pathlib import Path

__all__ = ["read_dotenv"]

_NAME = r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*="
_LINE = re.compile(
    _NAME
    + r"""\s*
    (?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^\s#'"][^\s#]*)?)
    \s*(?:\#.*)?""",
    re.VERBOSE,
)
_BEGINNING = re.compile(_NAME)
_LARGEST = 256 * 1024


def read_dotenv(folder: str | Path, names: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """The values of `names` in the folder's `.env`, and a sentence for what of it cannot be used. Blocks.

    The last value of a name counts. Only for folders the user trusts: whoever wrote the file decides
    which account is used. No sentence shows a value.
    """
    path = Path(folder) / ".env"
    try:
        text = _text(path)
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return {}, [f"No key is taken from {path}: {reason}."]
    found: dict[str, str] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        begun = _BEGINNING.match(line)
        if begun is None or begun["name"] not in names:
            continue
        if match := _LINE.fullmatch(line):
            value = match["single"] or match["double"] or match["bare"] or ""
            found[begun["name"]] = value.strip()
        else:
            problems.append(
                f"{path}, line {number}: {begun['name']} is not taken, because its value cannot be read; "
                "write it as NAME=value on one line."
            )
    return {name: value for name, value in found.items() if value}, problems


def _text(path: Path) -> str:
    """Raises `ValueError` with a reason for what is no file of keys."""
    # A pipe would keep us waiting for somebody to write into it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a file")
        data = os.read(descriptor, _LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST // 1024} KB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
