"""Editors whose user goes on typing: each has its own way with an edit that is not for the newest text."""

from __future__ import annotations

from typing import Any, TypeAlias

from pilothouse_server import handshake
from pilothouse_server.clients import ClientProfile, profile_of
from support.fake_editor import Buffer, FakeEditor

__all__ = ["NEOVIM", "SkippingEditor"]

Json: TypeAlias = dict[str, Any]


def _profile(name: str, **workspace: Any) -> ClientProfile:
    capabilities = {"workspace": {"applyEdit": True, **workspace}}
    return profile_of(handshake.introduce({"clientInfo": {"name": name}, "capabilities": capabilities}))


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
