"""Editors whose user goes on typing: each has its own way with an edit that is not for the newest text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from pilothouse_server.client import handshake
from pilothouse_server.client.clients import ClientProfile, profile_of
from support.fake_editor import Buffer, FakeEditor, Refused

__all__ = ["EGLOT", "NEOVIM", "NO_VERSIONS", "LateEditor", "SkippingEditor"]

Json: TypeAlias = dict[str, Any]


_UNTIL_KEYS_REST = 0.02


def _profile(name: str, **workspace: Any) -> ClientProfile:
    capabilities = {"workspace": {"applyEdit": True, **workspace}}
    return profile_of(handshake.introduce({"clientInfo": {"name": name}, "capabilities": capabilities}))


EGLOT = _profile("Eglot", workspaceEdit={"documentChanges": True})
NO_VERSIONS = _profile("other", workspaceEdit={"documentChanges": False})
NEOVIM = _profile("Neovim", semanticTokens={"refreshSupport": True})


class SkippingEditor(FakeEditor):
    """As Neovim: says yes to an edit for an older text and leaves it out; tells all when it is refreshed."""

    keys: str = ""
    """Typed at the end of the edited document, one before each edit that comes, untold."""

    def taken(self, params: Json) -> Json:
        (entry,) = params["edit"]["documentChanges"]
        buffer = self.buffers[entry["textDocument"]["uri"]]
        self._type_a_key(buffer)
        if entry["textDocument"]["version"] >= buffer.version:
            self.apply(params)
        return {"applied": True}

    async def refreshed(self, params: Json) -> None:
        self.flush_all()

    def _type_a_key(self, buffer: Buffer) -> None:
        key, self.keys = self.keys[:1], self.keys[1:]
        if key:
            self.type(buffer, len(buffer.text), key)


class LateEditor(FakeEditor):
    """As eglot: its version rises when it tells, so that an edit may meet what nobody has been told of."""

    typed: Callable[[Buffer], object] | None = None
    """Done once, when the next edit has come and before it is looked at."""
    tells_first = False
    """Tells what was typed before an edit is looked at, and the edit at once, as the documented lines do."""

    def taken(self, params: Json) -> Json:
        ((uri, version, edits),) = _entries(params)
        buffer = self.buffers[uri]
        typed, self.typed = self.typed, None
        if typed is not None:
            typed(buffer)
        if self.tells_first:
            self.flush(buffer)
        if version is not None and version != self.told_version(buffer):
            raise Refused(f"Edits on `a' require version {version}, you have {self.told_version(buffer)}")
        self.apply({"edit": {"documentChanges": [{"textDocument": {"uri": uri}, "edits": edits}]}})
        if self.tells_first:
            self.flush(buffer)
        else:
            asyncio.get_running_loop().call_later(_UNTIL_KEYS_REST, self.flush, buffer)
        return {"applied": True}

    def told_version(self, buffer: Buffer) -> int:
        return buffer.version - len(buffer.untold)


def _entries(params: Json) -> list[tuple[str, int | None, list[Json]]]:
    """Of an edit in either form: the document, the version, the edits."""
    edit = params["edit"]
    with_versions = [
        (each["textDocument"]["uri"], each["textDocument"]["version"], each["edits"])
        for each in edit.get("documentChanges", [])
    ]
    return [*with_versions, *((uri, None, edits) for uri, edits in edit.get("changes", {}).items())]
