"""The editor's settings: when they are asked for, what waits for them, and which of them count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.raw_client import RawClient, notification, request

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

CONFIGURATION, CHANGED = "workspace/configuration", "workspace/didChangeConfiguration"
CAN_BE_ASKED = {"workspace": {"configuration": True}}


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    """Three of them."""
    found: list[str] = []
    for name in "abc":
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"turns": [{"text": name}] * 9}), encoding="utf-8")
        found.append(f"scripted/{path}")
    return found


def introduced(client: RawClient, capabilities: Json, options: Json | None = None) -> None:
    """`initialized` has not been sent."""
    declared = {"pilothouse": options or {}}
    params = {"processId": None, "capabilities": capabilities, "initializationOptions": declared}
    client.send(request("initialize", "initialize", **params))
    client.answer("initialize")


def give(client: RawClient, question: Json, *values: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": list(values)})


def model(client: RawClient, folder: Path, msg_id: object = "new") -> str:
    """Of a new session that asks for none."""
    client.send(request(msg_id, "session/new", cwd=str(folder)))
    session = client.answer(msg_id)["result"]["sessionId"]
    return client.ask(f"{msg_id} state", "agent/state", sessionId=session)["result"]["sessions"][0]["model"]


def test_requests_wait_for_the_settings_that_the_client_is_asked_for(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, CAN_BE_ASKED)
    client.send(notification("initialized"), request("new", "session/new", cwd=str(tmp_path)))
    question = client.until(method=CONFIGURATION)
    give(client, question, {"model": models[0]})
    session = client.answer("new")["result"]["sessionId"]
    state = client.ask("state", "agent/state", sessionId=session)["result"]["sessions"][0]

    assert (question["params"], state["model"]) == ({"items": [{"section": "pilothouse"}]}, models[0])


def test_nothing_is_asked_before_initialized_and_requests_do_not_wait_for_it(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, CAN_BE_ASKED, {"settings": {"model": models[0]}})
    before = model(client, tmp_path)
    asked = [message for message in client.seen if message.get("method") == CONFIGURATION]
    client.notify("initialized")
    give(client, client.until(method=CONFIGURATION), {"model": models[1]})

    assert (before, asked) == (models[0], [])


def test_a_client_that_cannot_be_asked_is_not(client: RawClient, tmp_path: Path, models: list[str]) -> None:
    introduced(client, {}, {"settings": {"model": models[0]}})
    client.notify("initialized")

    assert model(client, tmp_path) == models[0]
    assert [message for message in client.seen if "method" in message] == []


@pytest.mark.parametrize(
    "answer",
    [
        {"result": None},
        {"result": []},
        {"result": {"model": "x"}},
        {"result": ["x"]},
        {"error": {"code": -32603, "message": "no"}},
    ],
)
def test_an_answer_that_makes_no_sense_is_no_settings(
    client: RawClient, tmp_path: Path, models: list[str], answer: Json
) -> None:
    introduced(client, CAN_BE_ASKED, {"settings": {"model": models[0]}})
    client.notify("initialized")
    client.send({"jsonrpc": "2.0", "id": client.until(method=CONFIGURATION)["id"], **answer})

    assert model(client, tmp_path) == models[0]


def test_a_client_that_never_answers_is_waited_for_five_seconds(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, CAN_BE_ASKED, {"settings": {"model": models[0]}})
    client.notify("initialized")
    question = client.until(method=CONFIGURATION)

    assert model(client, tmp_path) == models[0]
    assert notification("$/cancelRequest", id=question["id"]) in client.seen


def test_a_change_is_asked_for_and_the_newest_answer_counts(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, CAN_BE_ASKED)
    client.notify("initialized")
    give(client, client.until(method=CONFIGURATION), {"model": models[0]})
    before = model(client, tmp_path, "before")
    client.send(notification(CHANGED, settings=None), notification(CHANGED, settings=None))
    older, newer = client.until(method=CONFIGURATION), client.until(method=CONFIGURATION)
    give(client, newer, {"model": models[2]})
    give(client, older, {"model": models[1]})

    assert (before, model(client, tmp_path, "after")) == (models[0], models[2])


def test_a_change_while_the_first_answer_is_awaited_is_not_lost(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, CAN_BE_ASKED)
    client.notify("initialized")
    first = client.until(method=CONFIGURATION)
    client.notify(CHANGED, settings=None)
    second = client.until(method=CONFIGURATION)
    give(client, first, {"model": models[0]})
    give(client, second, {"model": models[1]})

    assert model(client, tmp_path) == models[1]


def test_settings_that_are_pushed_count_where_they_cannot_be_asked_for(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, {})
    client.notify("initialized")
    client.notify(CHANGED, settings={"pilothouse": {"model": models[0]}, "other": 1})
    pushed = model(client, tmp_path, 1)
    odd_ones: list[Any] = [None, 7, [], {}, {"other": {}}]
    for odd in odd_ones:
        client.notify(CHANGED, settings=odd)
    client.notify(CHANGED)

    assert (pushed, model(client, tmp_path, 2)) == (models[0], models[0])


@pytest.mark.covers("R252")
def test_a_change_that_is_pushed_counts_over_what_was_said_at_the_start(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, {}, {"settings": {"model": models[0], "run": {"maxTurns": 7}}})
    client.notify("initialized")
    before = model(client, tmp_path, 1)
    client.notify(CHANGED, settings={"pilothouse": {"model": models[1]}})
    pushed = model(client, tmp_path, 2)
    client.notify(CHANGED, settings={"pilothouse": {"model": {"id": models[2]}}})

    assert (before, pushed, model(client, tmp_path, 3)) == tuple(models)


@pytest.mark.covers("R252")
def test_a_client_that_tells_of_changes_only_when_asked_to_is_asked_to(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(
        client,
        {"workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}},
        {"settings": {"model": models[0]}},
    )
    client.notify("initialized")
    registration = client.until(method="client/registerCapability")
    client.send({"jsonrpc": "2.0", "id": registration["id"], "result": None})
    give(client, client.until(method=CONFIGURATION), None)
    before = model(client, tmp_path, 1)
    client.notify(CHANGED, settings={"pilothouse": {}})
    give(client, client.until(method=CONFIGURATION), {"model": models[1]})

    assert [
        (each["method"], each["registerOptions"]) for each in registration["params"]["registrations"]
    ] == [(CHANGED, {"section": "pilothouse"})]
    assert (before, model(client, tmp_path, 2)) == (models[0], models[1])


@pytest.mark.covers("R252")
def test_settings_that_come_with_a_change_hold_where_the_client_has_no_other_word(
    client: RawClient, tmp_path: Path, models: list[str]
) -> None:
    introduced(client, CAN_BE_ASKED, {"settings": {"model": models[0]}})
    client.notify("initialized")
    give(client, client.until(method=CONFIGURATION), None)
    client.notify(CHANGED, settings={"pilothouse": {"model": models[1]}})
    give(client, client.until(method=CONFIGURATION), None)

    assert model(client, tmp_path) == models[1]
