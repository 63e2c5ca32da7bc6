"""Settings that do not count are told: as notices, as one message in editors, in the error they lead to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.nursery import Nursery
from support.raw_client import RawClient

pytestmark = [pytest.mark.slow, pytest.mark.covers("R251")]

Json: TypeAlias = dict[str, Any]

UNKNOWN = {"PILOTHOUSE_SET_RUN_MAXTURN": "1"}
UNKNOWN_SAID = "PILOTHOUSE_SET_RUN_MAXTURN: there is no such setting. Did you mean RUN_MAXTURNS?"
WRONG_SAID = (
    'In the editor settings, run.maxTurns: expected a whole number, 1 or more, got "abc". It stays 100.'
)


def script(folder: Path) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": [{"text": "Hi."}]}), encoding="utf-8")
    return f"scripted/{path}"


def notices(client: RawClient) -> list[str]:
    """What has been told so far."""
    client.ask("now", "agent/state")
    events = [message["params"] for message in client.seen if message.get("method") == "agent/event"]
    return [event["message"] for event in events if event["type"] == "notice"]


def shown(client: RawClient) -> list[Json]:
    client.ask("now", "agent/state")
    return [message["params"] for message in client.seen if message.get("method") == "window/showMessage"]


def test_a_client_of_events_hears_of_each_as_a_notice_of_its_session(
    servers: Nursery, tmp_path: Path
) -> None:
    with servers.started(tmp_path, UNKNOWN) as client:
        client.initialize(options={"settings": {"run.maxTurns": "abc"}})
        client.session(tmp_path, script(tmp_path))

        assert notices(client) == [UNKNOWN_SAID, WRONG_SAID]
        assert shown(client) == []


def test_an_editor_without_a_plugin_is_told_once_in_one_line(servers: Nursery, tmp_path: Path) -> None:
    with servers.started(tmp_path, UNKNOWN) as client:
        client.initialize()
        client.until(method="window/showMessage")
        for value, news in (("abc", True), ("abc", False), ("def", True)):
            client.notify(
                "workspace/didChangeConfiguration", settings={"pilothouse": {"run": {"maxTurns": value}}}
            )
            if news:
                client.until(method="window/showMessage")
        client.session(tmp_path, script(tmp_path))

        assert shown(client) == [
            {"type": 2, "message": f"Pilothouse: {UNKNOWN_SAID}"},
            {"type": 2, "message": f"Pilothouse: {WRONG_SAID}"},
            {"type": 2, "message": f"Pilothouse: {WRONG_SAID.replace('abc', 'def')}"},
        ]


def test_what_comes_to_be_wrong_is_told_to_the_sessions_that_are_open(
    client: RawClient, tmp_path: Path
) -> None:
    client.initialize(options={})
    client.session(tmp_path, script(tmp_path))
    client.notify("workspace/didChangeConfiguration", settings={"pilothouse": {"run.maxTurns": "abc"}})
    client.event("notice")
    client.notify("workspace/didChangeConfiguration", settings={"pilothouse": {"run.maxTurns": "abc"}})

    assert notices(client) == [WRONG_SAID]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ('model = "openai/x', "is not valid TOML, so none of its settings count"),
        (
            'models = "openai/x"',
            "In the user settings, models: there is no such setting. Did you mean model or mode?",
        ),
        ('model = "x"', 'In the user settings, model: expected a model as provider/model, got "x"'),
    ],
)
def test_where_no_model_is_chosen_the_error_says_what_is_wrong_with_the_settings(
    client: RawClient, tmp_path: Path, file: str, said: str
) -> None:
    (tmp_path / "config.toml").write_text(file, encoding="utf-8")
    client.initialize()
    error = client.ask(1, "session/new", cwd=str(tmp_path))["error"]

    assert (error["code"], error["data"]) == (-31005, {"kind": "unknownModel"})
    assert error["message"].startswith("No model is chosen.")
    assert said in error["message"]


def test_where_a_key_is_missing_the_error_says_that_the_one_in_the_file_is_ignored(
    servers: Nursery, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[providers.mistral]\nkey = "SENTINEL"\n', encoding="utf-8")
    file.chmod(0o644)
    with servers.started(tmp_path, {"MISTRAL_API_KEY": ""}) as client:
        client.initialize()
        error = client.ask(1, "agent/prompt", text="hello", model="mistral/m")["error"]

    assert (error["code"], error["data"]) == (-31006, {"kind": "noCredentials"})
    assert "mistral needs a key" in error["message"]
    assert f"providers.mistral.key is ignored, because {file} can be read by other users." in error["message"]
    assert "SENTINEL" not in error["message"]


def test_where_a_provider_is_unknown_the_error_says_what_is_wrong_with_its_entry(
    client: RawClient, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text("[providers.mine]\nformat = 'openai'\n", encoding="utf-8")
    client.initialize()
    error = client.ask(1, "session/new", cwd=str(tmp_path), model="mine/m")["error"]

    assert "There is no model 'mine/m'" in error["message"]
    assert "providers.mine.baseUrl: expected the address of the server" in error["message"]
