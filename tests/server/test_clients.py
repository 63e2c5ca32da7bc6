"""What is known of real clients goes before what they declare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from pilothouse_server.client import handshake
from pilothouse_server.client.clients import ClientProfile, profile_of

Json: TypeAlias = dict[str, Any]

APPLIES: Json = {"workspace": {"applyEdit": True}}
OPERATES: Json = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"resourceOperations": ["create", "delete", 5]}}
}
REFRESHES: Json = {"workspace": {"applyEdit": True, "semanticTokens": {"refreshSupport": True}}}
VERSIONED: Json = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
UNVERSIONED = ClientProfile(versions="none")
NEOVIM = ClientProfile(least_version=1, skips=True, holds_back=True, labelled=False)
SHOWS: Json = {"window": {"showMessage": {"messageActionItem": {}}}}


@pytest.mark.parametrize(
    ("name", "declared", "profile"),
    [
        ("", {}, ClientProfile(takes_edits=False, versions="none")),
        ("Visual Studio Code", {**VERSIONED, **SHOWS}, ClientProfile(asks_by_message=True)),
        ("", {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": False}}}, UNVERSIONED),
        ("Neovim", APPLIES, NEOVIM),
        ("Neovim", REFRESHES, replace(NEOVIM, tells_when_refreshed=True)),
        ("Eglot", APPLIES, ClientProfile(versions="late", holds_back=True, asks_by_message=True)),
        ("", REFRESHES, UNVERSIONED),
        ("Kate", {**APPLIES, **SHOWS}, replace(UNVERSIONED, takes_edits=False, asks_by_message=True)),
        ("helix", VERSIONED, ClientProfile()),
        ("", OPERATES, ClientProfile(versions="none", resource_operations=frozenset({"create", "delete"}))),
    ],
)
def test_a_client_is_taken_as_it_declares_itself_but_for_what_is_known_better(
    name: str, declared: Json, profile: ClientProfile
) -> None:
    client = handshake.introduce(
        {"clientInfo": {"name": name}, "capabilities": declared, "rootUri": "file:///"}
    )

    assert profile_of(client) == profile
