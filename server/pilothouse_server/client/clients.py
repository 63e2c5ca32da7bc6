"""What real clients do, where that is not what they declare, and how they show what is not a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from pilothouse_server.client.handshake import Client

__all__ = ["USUAL", "ClientProfile", "Habits", "Versions", "habits_of", "profile_of", "tells_late"]

_ERROR, _WARNING = 1, 2

Versions: TypeAlias = Literal["exact", "late", "none"]
"""How far a version keeps an edit off another text: for good; only off what was told, since the version
rises no earlier; not at all, since edits are taken without one."""


@dataclass(frozen=True, slots=True)
class ClientProfile:
    takes_edits: bool = True
    """Whether open documents can be changed by `workspace/applyEdit`; otherwise files are changed on
    disk, and those with unsaved text not at all."""
    least_version: int = 0
    """Sent in place of lower versions."""
    versions: Versions = "exact"
    skips: bool = False
    """Says yes to an edit that is not for its newest text and leaves it out, the edit as a whole."""
    holds_back: bool = False
    """Tells changes only once the keys rest, which may be long after it has answered."""
    labelled: bool = True
    """Whether edits may carry a name, which some show to the user each time."""
    tells_when_refreshed: bool = False
    """See `Client.tells_when_refreshed`."""
    asks_by_message: bool = False
    """Whether `window/showMessageRequest` works."""
    resource_operations: frozenset[str] = frozenset()
    """Those that an edit may hold: `create`, `rename`, `delete`."""


USUAL = ClientProfile()


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


class _Correction(NamedTuple):
    field: str
    value: bool | int | str
    reason: str


class _Known(NamedTuple):
    habits: Habits = Habits()
    corrections: tuple[_Correction, ...] = ()


_UNKNOWN = _Known()
_VSCODE = _Known(
    Habits(
        keeps_keys_out=True,
        may_lose_messages=True,
        joins_lines=True,
        hides_source_actions=True,
        tells_cursor=True,
    )
)
_KNOWN: Mapping[str, _Known] = {
    "neovim": _Known(
        Habits(tells_late=True, shows_codes=True, stops_for_warnings=True),
        (
            _Correction("takes_edits", True, "Declares no documentChanges and obeys them, versions too."),
            _Correction("versions", "exact", "The same."),
            _Correction("least_version", 1, "Takes version 0 for no version, so for the text it has then."),
            _Correction("labelled", False, "Prints the name, and two lines printed wait for a key."),
            _Correction(
                "skips", True, "Prints that its buffer is newer than the edit, and answers with yes."
            ),
            _Correction("holds_back", True, "Its timer begins anew with each key until it has told once."),
        ),
    ),
    "eglot": _Known(
        # Its minibuffer begins with the first choice, and takes nothing that is not exactly one of them.
        Habits(keeps_keys_out=True),
        (
            _Correction("versions", "late", "Counts changes as it tells them, or a little before."),
            _Correction("holds_back", True, "Tells changes after half a second without a key."),
            _Correction("asks_by_message", True, "Shows message requests without declaring them."),
        ),
    ),
    "kate": _Known(
        corrections=(
            _Correction(
                "takes_edits",
                False,
                "Takes edits only just after a command of its own, whatever their version.",
            ),
        ),
    ),
    "visual studio code": _VSCODE,
    "visual studio code - insiders": _VSCODE,
    "code - oss": _VSCODE,
    "code-server": _VSCODE,
    "vscodium": _VSCODE,
}
"""By the name in `clientInfo`, in lower case."""


def habits_of(name: str) -> Habits:
    """By the name in `clientInfo`."""
    return _known(name).habits


def tells_late(client: Client) -> bool:
    """Whether it tells nothing of a document's first changes as long as keys come quickly, whatever it
    is asked."""
    return habits_of(client.name).tells_late and not client.tells_when_refreshed


def profile_of(client: Client) -> ClientProfile:
    """What it declares, with what is known better of it."""
    profile = ClientProfile(
        takes_edits=client.can("workspace", "applyEdit"),
        versions="exact" if client.takes_versions else "none",
        tells_when_refreshed=client.tells_when_refreshed,
        asks_by_message=client.can("window", "showMessage"),
        resource_operations=client.listed("workspace", "workspaceEdit", "resourceOperations"),
    )
    for known in _known(client.name).corrections:
        profile = replace(profile, **{known.field: known.value})
    return profile


def _known(name: str) -> _Known:
    return _KNOWN.get(name.lower(), _UNKNOWN)
