"""What real clients do, where that is not what they declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from pilothouse_server.client.handshake import Client

__all__ = ["USUAL", "ClientProfile", "Versions", "profile_of"]


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


class _Correction(NamedTuple):
    field: str
    value: bool | int | str
    reason: str


_KNOWN: Mapping[str, tuple[_Correction, ...]] = {
    "neovim": (
        _Correction("takes_edits", True, "Declares no documentChanges and obeys them, versions too."),
        _Correction("versions", "exact", "The same."),
        _Correction("least_version", 1, "Takes version 0 for no version, so for the text it has then."),
        _Correction("labelled", False, "Prints the name, and two lines printed wait for a key."),
        _Correction("skips", True, "Prints that its buffer is newer than the edit, and answers with yes."),
        _Correction("holds_back", True, "Its timer begins anew with each key until it has told once."),
    ),
    "eglot": (
        _Correction("versions", "late", "Counts changes as it tells them, or a little before."),
        _Correction("holds_back", True, "Tells changes after half a second without a key."),
        _Correction("asks_by_message", True, "Shows message requests without declaring them."),
    ),
    "kate": (
        _Correction(
            "takes_edits", False, "Takes edits only just after a command of its own, whatever their version."
        ),
    ),
}
"""By the name in `clientInfo`, in lower case."""


def profile_of(client: Client) -> ClientProfile:
    """What it declares, with what is known better of it."""
    profile = ClientProfile(
        takes_edits=client.can("workspace", "applyEdit"),
        versions="exact" if client.takes_versions else "none",
        tells_when_refreshed=client.tells_when_refreshed,
        asks_by_message=client.can("window", "showMessage"),
        resource_operations=client.listed("workspace", "workspaceEdit", "resourceOperations"),
    )
    for known in _KNOWN.get(client.name.lower(), ()):
        profile = replace(profile, **{known.field: known.value})
    return profile
