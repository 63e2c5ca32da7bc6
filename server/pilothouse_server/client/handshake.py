"""The answer to `initialize`, and what the client says of itself in it. Loads nothing heavy."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pilothouse_server.client.document_uris import path_of
from pilothouse_server.client.positions import Encoding
from pilothouse_server.wire import command_names
from pilothouse_server.wire.json_object import Json, json_object

__all__ = ["Client", "answer", "introduce"]

PROTOCOL_VERSION = 1
FEATURES = (
    "approvals",
    "diagnostics",
    "events",
    "progress",
    "questions",
    "replay",
    "rewind",
    "save",
    "steering",
)
"""What this server offers beyond the first version of the protocol."""
ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")


_ACTION_KINDS = ("quickfix", "refactor.rewrite", "source")
_NO_TOKENS: Json = {
    "semanticTokensProvider": {"legend": {"tokenTypes": [], "tokenModifiers": []}, "full": True}
}
"""For the sake of being asked: a client tells its changes before it asks anything about a document."""


@dataclass(frozen=True, slots=True)
class Client:
    """What the client declared."""

    name: str
    wants_events: bool
    declared: Json = field(default_factory=dict[str, Any])
    """Its `pilothouse` object."""
    capabilities: Json = field(default_factory=dict[str, Any])
    folders: tuple[str, ...] = ()
    """Absolute paths of the workspace folders, or the server's own folder when none is named; none when that
    is gone, or when those that are named are not of this machine."""
    folder_uris: tuple[str, ...] = ()
    """As the client spells them; none for one that it gave as a path."""
    process_id: int | None = None
    encoding: Encoding = "utf-16"
    """Of positions, as negotiated."""

    @property
    def settings(self) -> Json:
        return json_object(self.declared.get("settings"))

    @property
    def takes_versions(self) -> bool:
        """Whether edits may be for a version; a client with a plugin of ours need not declare it."""
        declared = self._capability("workspace", "workspaceEdit", "documentChanges")
        return self.wants_events if declared is None else declared is True

    @property
    def tells_when_refreshed(self) -> bool:
        """Whether it tells the changes it holds back when it is asked to refresh semantic tokens.

        Others would take the tokens of a server that has none for the only ones.
        """
        return self.name.lower() == "neovim" and self.can("workspace", "semanticTokens", "refreshSupport")

    def can(self, *path: str) -> bool:
        """Whether a capability is declared, such as `can("workspace", "configuration")`."""
        node = self._capability(*path)
        return node is True or isinstance(node, dict)

    def listed(self, *path: str) -> frozenset[str]:
        """The strings in a capability that is a list."""
        node = self._capability(*path)
        items = cast("list[Any]", node) if isinstance(node, list) else []
        return frozenset(item for item in items if isinstance(item, str))

    def can_register(self, *path: str) -> bool:
        """Whether a capability may be asked for after `initialized`."""
        return self.can(*path, "dynamicRegistration")

    def _capability(self, *path: str) -> Any:
        node: Any = self.capabilities
        for name in path:
            node = json_object(node).get(name)
        return node


def introduce(params: Json) -> Client:
    capabilities = json_object(params.get("capabilities"))
    options = json_object(params.get("initializationOptions"))
    experimental = json_object(capabilities.get("experimental"))
    process_id = params.get("processId")
    folders, folder_uris = _folders(params)
    return Client(
        name=str(json_object(params.get("clientInfo")).get("name") or ""),
        wants_events=any(side.get("pilothouse") is not None for side in (options, experimental)),
        declared={**json_object(experimental.get("pilothouse")), **json_object(options.get("pilothouse"))},
        capabilities=capabilities,
        folders=folders,
        folder_uris=folder_uris,
        process_id=process_id if type(process_id) is int and process_id > 0 else None,
        encoding=_encoding(capabilities),
    )


def answer(client: Client, version: str) -> Json:
    """Commands are told only to clients without a plugin: some editors register those they are told for
    all windows, and a plugin's own would collide with them."""
    return {
        "serverInfo": {"name": "pilothouse", "version": version},
        "capabilities": {
            "positionEncoding": client.encoding,
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
            **({} if client.wants_events else _plain_door(client)),
            **(_NO_TOKENS if client.tells_when_refreshed else {}),
            "experimental": {"pilothouse": {"protocolVersion": PROTOCOL_VERSION, "features": list(FEATURES)}},
        },
    }


def _plain_door(client: Client) -> Json:
    """Kinds are for clients that take code actions as such, not only as commands."""
    literal = client.can("textDocument", "codeAction", "codeActionLiteralSupport")
    return {
        "codeActionProvider": {"codeActionKinds": list(_ACTION_KINDS)} if literal else True,
        "executeCommandProvider": {"commands": list(command_names.ALL)},
    }


def _encoding(capabilities: Json) -> Encoding:
    """The client's first choice of those we know; utf-16 is what LSP means by silence."""
    offered = json_object(capabilities.get("general")).get("positionEncodings")
    choices = cast("list[Any]", offered) if isinstance(offered, list) else []
    known: list[Encoding] = [encoding for choice in choices for encoding in ENCODINGS if encoding == choice]
    return known[0] if known else "utf-16"


def _folders(params: Json) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Their paths and their URIs."""
    listed = params.get("workspaceFolders")
    folders = cast("list[Any]", listed) if isinstance(listed, list) else []
    uris = [json_object(folder).get("uri") for folder in folders]
    root_uri, root_path = params.get("rootUri"), params.get("rootPath")
    for candidates in (uris, [root_uri]):
        paths = {uri: path_of(uri) for uri in candidates if isinstance(uri, str)}
        found = {uri: path for uri, path in paths.items() if path is not None}
        if found:
            return tuple(found.values()), tuple(found)
    if isinstance(root_path, str) and os.path.isabs(root_path):
        return (root_path,), ()
    named = any(isinstance(each, str) and each for each in (*uris, root_uri, root_path))
    return () if named else _own_folder(), ()


def _own_folder() -> tuple[str, ...]:
    try:
        return (str(Path.cwd()),)
    except OSError:
        return ()
