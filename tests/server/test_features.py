"""What the server answers: features of pygls and nothing else, and what is told of them is all there is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pygls.protocol import default_converter

from pilothouse_server.protocol.methods import METHODS
from pilothouse_server.protocol.schema import json_schema
from pilothouse_server.server import PilothouseServer
from pilothouse_server.wire import command_names
from pilothouse_server.wire import method_names as names
from support.idle_server import idle_server

Json: TypeAlias = dict[str, Any]

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
LIFE = {names.INITIALIZE, names.SHUTDOWN, names.EXIT, names.CANCEL}
"""What the connection answers before there is a server, and after."""


@pytest.fixture
async def server() -> AsyncGenerator[PilothouseServer]:
    async with idle_server({"rootUri": "file:///"}) as made:
        yield made


@pytest.fixture
def features(server: PilothouseServer) -> set[str]:
    manager: Any = server.protocol.fm
    return set(manager.features)


async def test_what_is_taken_without_loading_the_server_is_known_by_name(features: set[str]) -> None:
    assert features == names.REQUESTS | names.NOTIFICATIONS
    assert not names.REQUESTS & names.NOTIFICATIONS
    assert not features & LIFE


async def test_the_schema_and_the_page_tell_of_every_method_of_ours(features: set[str]) -> None:
    ours = {name for name in features & names.REQUESTS if name.startswith(("agent/", "session/"))}
    for_the_server = {method.name for method in METHODS if method.to == "server"}
    schema = await asyncio.to_thread(json_schema)
    page = await asyncio.to_thread(PAGE.read_text, encoding="utf-8")

    assert ours == for_the_server
    assert ours <= set(schema["methods"])
    assert ours <= set(re.findall(r"^### (\S+)$", page, re.M))


@pytest.mark.parametrize(
    ("declared", "known"),
    [
        ({"workspace": {"configuration": True}}, {"workspace": {"configuration": True}}),
        ({"workspace": {"configuration": "yes", "workspaceEdit": 7}}, {}),
    ],
)
async def test_what_the_client_can_do_is_there_as_pygls_has_it(declared: Json, known: Json) -> None:
    async with idle_server({"rootUri": "file:///", "capabilities": declared}) as server:
        found = server.client_capabilities

    assert default_converter().unstructure(found) == known


async def test_every_command_that_editors_are_told_of_is_there(server: PilothouseServer) -> None:
    manager: Any = server.protocol.fm

    assert list(manager.commands) == list(command_names.ALL)
