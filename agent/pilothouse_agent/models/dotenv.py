"""Keys out of a `.env` file: only variables that hold keys are taken, nothing else of it counts."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

__all__ = ["read_dotenv"]

_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*
    (?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^\s#'"][^\s#]*)?)
    \s*(?:\#.*)?""",
    re.VERBOSE,
)
_LARGEST = 256 * 1024


def read_dotenv(folder: str | Path, names: Collection[str]) -> dict[str, str]:
    """The values of `names` in the folder's `.env`; none when it cannot be read. Blocks.

    The last value of a name counts. Only for folders the user trusts: whoever wrote the file decides
    which account is used.
    """
    try:
        with (Path(folder) / ".env").open("rb") as file:
            text = file.read(_LARGEST).decode("utf-8-sig", "replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for match in filter(None, map(_LINE.fullmatch, text.splitlines())):
        value = match["single"] or match["double"] or match["bare"]
        if match["name"] in names and value:
            found[match["name"]] = value.strip()
    return found
