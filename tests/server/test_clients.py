"""What is known of real clients goes before what they declare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from pilothouse_server import handshake
from pilothouse_server.clients import ClientProfile, profile_of

Json: TypeAlias = dict[str, Any]

APPLIES: Json = {"workspace": {"applyEdit": True}}
WATCHES: Json = {"workspace": {"applyEdit": True, "didChangeWatchedFiles": {"dynamicRegistration": True}}}
OPERATES: Json = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"resourceOperations": ["create", "delete", 5]}}
}
REFRESHES: Json = {"workspace": {"applyEdit": True, "semanticTokens": {"refreshSupport": True}}}
NEOVIM = ClientProfile(least_version=1, skips=True, holds_back=True, labelled=False)
SHOWS: Json = {"window": {"showMessage": {"messageActionItem": {}}}}


@pytest.mark.parametrize(
    ("name", "declared", "profile"),
    [
        ("", {}, ClientProfile(takes_edits=False)),
        ("Visual Studio Code", {**WATCHES, **SHOWS}, ClientProfile(asks_by_message=True, watches_files=True)),
        ("Neovim", APPLIES, NEOVIM),
        ("Neovim", REFRESHES, replace(NEOVIM, tells_when_refreshed=True)),
        ("Eglot", WATCHES, ClientProfile(holds_back=True, asks_by_message=True)),
        ("", REFRESHES, ClientProfile()),
        ("Kate", {**APPLIES, **SHOWS}, ClientProfile(takes_edits=False, asks_by_message=True)),
        ("helix", APPLIES, ClientProfile()),
        ("", OPERATES, ClientProfile(resource_operations=frozenset({"create", "delete"}))),
    ],
)
def test_a_client_is_taken_as_it_declares_itself_but_for_what_is_known_better(
    name: str, declared: Json, profile: ClientProfile
) -> None:
    client = handshake.introduce(
        {"clientInfo": {"name": name}, "capabilities": declared, "rootUri": "file:///"}
    )

    assert profile_of(client) == profile
