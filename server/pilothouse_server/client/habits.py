"""How real clients show what is not a document: questions, errors, menus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Habits", "habits_of"]

_ERROR, _WARNING = 1, 2


@dataclass(frozen=True, slots=True)
class Habits:
    keeps_keys_out: bool = False
    """No key that is meant for a text can allow anything in a message request."""
    may_lose_messages: bool = False
    """A message request disappears by itself, so that its closing is not the user's word."""
    joins_lines: bool = False
    """Messages are shown without their line breaks."""
    hides_source_actions: bool = False
    """Code actions of the kind `source` stand in a menu of their own."""
    tells_cursor: bool = False
    """Asks for code actions at each move of the cursor."""
    tells_late: bool = False
    """Tells nothing of a document's first changes as long as keys come quickly."""
    shows_codes: bool = False
    """An error is shown with its code in front of its message."""
    stops_for_warnings: bool = False
    """A message that is no error has an empty line below it, and waits for a key."""

    def warning(self, text: str) -> dict[str, Any]:
        """The params of `window/showMessage`."""
        return {"type": _ERROR if self.stops_for_warnings else _WARNING, "message": f"Pilothouse: {text}"}


_VSCODE = Habits(
    keeps_keys_out=True,
    may_lose_messages=True,
    joins_lines=True,
    hides_source_actions=True,
    tells_cursor=True,
)
_KNOWN = {
    "neovim": Habits(tells_late=True, shows_codes=True, stops_for_warnings=True),
    # Its minibuffer begins with the first choice, and takes nothing that is not exactly one of them.
    "eglot": Habits(keeps_keys_out=True),
    "visual studio code": _VSCODE,
    "visual studio code - insiders": _VSCODE,
    "code - oss": _VSCODE,
    "code-server": _VSCODE,
    "vscodium": _VSCODE,
}


def habits_of(name: str) -> Habits:
    """By the name in `clientInfo`."""
    return _KNOWN.get(name.lower(), Habits())
