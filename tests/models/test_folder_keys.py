"""Keys out of one folder's `.env` are used for the sessions of that folder, and for no others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.models.choosing.registry import ModelRegistry, Unusable
from pilothouse_agent.models.http.timeouts import Timeouts
from support.asking import Seen, ask, failure, model_request, seen
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.providers import registry

HI = Answer.of(chat_body(text_chunk("Hi"), finish_chunk()))


def _settings(server: ModelServer) -> dict[str, Any]:
    """`one` and `two` take keys out of variables, `free` takes none."""
    return {
        "one": {"baseUrl": server.url, "key": "ONE_KEY"},
        "two": {"baseUrl": server.url, "key": "TWO_KEY"},
        "free": {"baseUrl": server.url},
    }


async def _keys_sent(server: ModelServer, *asked: tuple[ModelRegistry, str]) -> list[str | None]:
    server.play(*[HI] * len(asked))
    before = len(server.requests)
    for models, model in asked:
        assert seen(await ask(models, model_request(model=model))) == Seen("Hi")
    return [request.headers.get("authorization") for request in server.requests[before:]]


async def test_a_folders_key_is_used_by_its_own_sessions_only(server: ModelServer) -> None:
    async with registry(_settings(server)) as models:
        mine, theirs = models.with_keys({"ONE_KEY": "mine"}), models.with_keys({"ONE_KEY": "theirs"})
        asked = ((mine, "one/m"), (theirs, "one/m"), (mine, "one/m"))
        assert await _keys_sent(server, *asked) == ["Bearer mine", "Bearer theirs", "Bearer mine"]
        missing = failure(await ask(models, model_request(model="one/m")))
        assert (missing.kind, len(server.requests)) == ("auth", 3)
        sources = [registry.key_source("one/m") for registry in (models, mine, theirs)]
        assert sources == [None, "dotenv", "dotenv"]
        assert mine.problem("one/m") is None
        assert isinstance(models.problem("one/m"), Unusable)
        offers = {who: await who.offers("one") for who in (models, mine)}
    assert [offers[models][0].source, offers[mine][0].source] == [None, "dotenv"]
    assert (offers[models][0].reason is None, offers[mine][0].reason) == (False, None)


async def test_a_key_of_the_users_own_counts_before_that_of_a_folder(server: ModelServer) -> None:
    async with registry(_settings(server), {"ONE_KEY": "own"}) as models:
        mine = models.with_keys({"ONE_KEY": "folder", "TWO_KEY": "folder"})
        asked = ((mine, "one/m"), (mine, "two/m"))
        assert await _keys_sent(server, *asked) == ["Bearer own", "Bearer folder"]
        assert [mine.key_source(f"{name}/m") for name in ("one", "two")] == ["environment", "dotenv"]


async def test_what_needs_no_key_of_a_folder_goes_through_the_connections_of_all(server: ModelServer) -> None:
    async with registry(_settings(server)) as models:
        mine = models.with_keys({"ONE_KEY": "folder"})
        assert models.with_keys({}) is models
        assert await _keys_sent(server, (models, "free/m"), (mine, "free/m")) == [None, None]
        assert server.connections == 1
        await _keys_sent(server, (mine, "one/m"))
        assert server.connections == 2


async def test_new_settings_and_the_ledger_are_for_all(server: ModelServer) -> None:
    async with registry(_settings(server)) as models:
        mine = models.with_keys({"NEW_KEY": "folder"})
        entries: dict[str, Any] = {**_settings(server), "new": {"baseUrl": server.url, "key": "NEW_KEY"}}
        models.configure(read_providers(entries, {})[0], Timeouts(4, 4))
        assert "NEW_KEY" in models.key_variables
        assert await _keys_sent(server, (mine, "new/m")) == ["Bearer folder"]
        assert [entry.model for entry in models.ledger.entries("s1")] == ["new/m"]


@pytest.mark.covers("R175")
async def test_a_folders_key_is_not_told_when_it_is_refused(server: ModelServer) -> None:
    server.play(json_answer(401, {"error": {"message": "wrong key: SENTINEL-folder"}}))
    async with registry(_settings(server)) as models:
        mine = models.with_keys({"ONE_KEY": "SENTINEL-folder"})
        refused = failure(await ask(mine, model_request(model="one/m")))
    assert refused.kind == "auth"
    assert "SENTINEL" not in refused.message
    assert "ONE_KEY in .env" in refused.message


async def test_a_provider_is_loaded_ahead_without_asking_anybody_anything(server: ModelServer) -> None:
    settings = {**_settings(server), "ran": {"baseUrl": server.url, "keyCommand": ["/no/such/command"]}}
    async with registry(settings) as models:
        mine = models.with_keys({"ONE_KEY": "folder"})
        for model in ("one/m", "two/m", "free/m", "ran/m", "nobody/m"):
            await mine.warm(model)
        assert (server.connections, server.requests) == (0, [])
        assert await _keys_sent(server, (mine, "one/m")) == ["Bearer folder"]


async def test_loading_ahead_ends_with_the_registry(server: ModelServer) -> None:
    before = asyncio.all_tasks()
    async with registry(_settings(server)) as models:
        for registered in (models, models.with_keys({"ONE_KEY": "folder"})):
            registered.warm_up("free/m")
            registered.warm_up("one/m")
        assert len(asyncio.all_tasks() - before) == 4
    assert asyncio.all_tasks() == before
