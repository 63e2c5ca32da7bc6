"""Choosing a model over the wire: what there is, what is refused, and when a choice counts."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_cli.headless import RpcError
from pilothouse_server.protocol import models as protocol
from support.chat_turns import chat_answer
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.raw_client import SERVER
from support.wire_session import WireSession, soon, wire_session

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]
HI = Answer.of(
    chat_body(text_chunk("Hi"), finish_chunk(usage={"prompt_tokens": 1000, "completion_tokens": 1}))
)
SOURCES = ("environment", "config", "command", "dotenv")
NO_KEY = (
    "mistral needs a key: set MISTRAL_API_KEY, or give a key or keyCommand in [providers.mistral] of your "
    "config.toml."
)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


def _home(folder: Path, server: ModelServer, extra: str = "") -> dict[str, str]:
    """The variables of a user whose config.toml knows the providers `one` and `two`, both on `server`."""
    home = folder / "own"
    home.mkdir()
    file = home / "config.toml"
    file.write_text(
        f'"retry.attempts" = 0\n[providers.one]\nbaseUrl = "{server.url}"\nkey = "ONE_KEY"\n'
        "[providers.one.models.m]\n"
        "contextWindow = 9000\nmaxOutput = 50\nimages = false\ninputPrice = 2\noutputPrice = 0.5\n"
        f'[providers.two]\nbaseUrl = "{server.url}"\n{extra}',
        encoding="utf-8",
    )
    file.chmod(0o600)
    return {"PILOTHOUSE_HOME": str(home), "ONE_KEY": "key-of-one"}


def _work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    return folder


async def _refused(session: WireSession, method: str, **params: Any) -> tuple[int, Any, str]:
    with pytest.raises(RpcError) as refused:
        await soon(session.request(method, **params))
    return refused.value.code, refused.value.kind, refused.value.message


async def _state(session: WireSession) -> Json:
    return (await soon(session.request("agent/state")))["sessions"][0]


async def test_another_model_answers_the_next_request_even_of_the_run_under_way(
    tmp_path: Path, server: ModelServer
) -> None:
    go_on = asyncio.Event()
    read = {"text": "Reading.", "calls": [{"id": "c1", "name": "read_file", "arguments": {"path": "a.py"}}]}
    (body,) = chat_answer(read).pieces
    assert isinstance(body, bytes)
    server.play(Answer((body[:40], go_on, body[40:])), HI, HI)
    variables = _home(tmp_path, server)
    async with wire_session(_work(tmp_path), "one/m", mode="none", variables=variables) as session:
        running = session.prompt("Read it")
        await soon(server.asked.wait())
        await soon(session.request("session/setModel", model="two/other"))
        await soon(session.request("session/setThinking", thinking="high"))
        go_on.set()
        result = await soon(running)
        state = await _state(session)
    assert (result["stopReason"], result["text"]) == ("completed", "Hi")
    sent = [(request.json["model"], request.json.get("reasoning_effort")) for request in server.requests]
    assert sent == [("m", None), ("other", "high")]
    assert "authorization" not in server.requests[1].headers
    updates = [event for event in session.events if event["type"] == "session_update"]
    assert [event.get("model") or event["thinking"] for event in updates] == ["two/other", "high"]
    assert (state["model"], state["thinking"], state.get("credentials")) == ("two/other", "high", None)


async def test_a_model_that_cannot_be_used_is_refused_at_admission_and_nothing_changes(
    tmp_path: Path, server: ModelServer
) -> None:
    server.play(HI)
    variables = _home(tmp_path, server)
    async with wire_session(_work(tmp_path), "one/m", mode="none", variables=variables) as session:
        for method in ("session/setModel", "agent/prompt"):
            params = {"text": "Hi"} if method == "agent/prompt" else {}
            code, kind, message = await _refused(session, method, model="nobody/m", **params)
            assert (code, kind) == (protocol.UNKNOWN_MODEL.code, "unknownModel")
            assert message.startswith("There is no model 'nobody/m': an id is provider/model, and the ")
            missing = (protocol.NO_CREDENTIALS.code, "noCredentials", NO_KEY)
            assert await _refused(session, method, model="mistral/m", **params) == missing
        code, kind, _ = await _refused(session, "session/new", model="nobody/m")
        assert (code, kind) == (protocol.UNKNOWN_MODEL.code, "unknownModel")
        code, _, message = await _refused(session, "session/setThinking", thinking="very")
        assert code == -32602
        assert "thinking" in message
        state = await _state(session)
        result = await soon(session.prompt("Hi"))
    assert (state["model"], state["thinking"], state["credentials"]) == ("one/m", "off", "environment")
    assert (result["text"], result["usage"]["cost"]) == ("Hi", "0.0020005")
    assert len(server.requests) == 1


async def test_a_session_can_be_opened_before_its_key_is_there(tmp_path: Path, server: ModelServer) -> None:
    variables = _home(tmp_path, server)
    async with wire_session(_work(tmp_path), "mistral/m", mode="none", variables=variables) as session:
        missing = (protocol.NO_CREDENTIALS.code, "noCredentials", NO_KEY)
        assert await _refused(session, "agent/prompt", text="Hi") == missing
        sessions = (await soon(session.client.request("agent/state")))["sessions"]
        without = session.client.request("agent/prompt", {"text": "Hi", "model": "mistral/m"})
        with pytest.raises(RpcError):
            await soon(without)
        assert (await soon(session.client.request("agent/state")))["sessions"] == sessions


async def test_what_can_be_chosen_is_told_with_limits_prices_and_where_keys_come_from(
    tmp_path: Path, server: ModelServer
) -> None:
    variables = {**_home(tmp_path, server), "ANTHROPIC_API_KEY": "SENTINEL-7"}
    async with wire_session(_work(tmp_path), "one/m", mode="none", variables=variables) as session:
        listed = await soon(session.client.request("agent/models"))
        mine = await soon(session.client.request("agent/models", {"provider": "one"}))
        mistral = await soon(session.client.request("agent/models", {"provider": "mistral"}))
        code, kind, _ = await _refused(session, "agent/models", provider="nobody")
        state = await _state(session)
    providers = {entry.pop("name"): entry for entry in listed["providers"]}
    assert providers["one"] == {"available": True, "credentials": "environment"}
    assert providers["two"] == {"available": True}
    assert not providers["ollama"]["available"]
    assert providers["anthropic"] == {"available": True, "credentials": "environment"}
    assert providers["mistral"] == {"available": False, "reason": NO_KEY}
    assert mine["models"] == [
        {
            "id": "one/m",
            "provider": "one",
            "available": True,
            "credentials": "environment",
            "contextWindow": 9000,
            "maxOutput": 50,
            "images": False,
            "price": {"input": "2", "output": "0.5"},
        }
    ]
    sonnet = next(entry for entry in listed["models"] if entry["id"] == "anthropic/claude-sonnet-4-5")
    assert (sonnet["contextWindow"], sonnet["price"]["input"], sonnet["thinking"]) == (200_000, "3", True)
    assert not any(entry["provider"] == "mistral" for entry in listed["models"])
    assert mistral["models"]
    assert all(not entry["available"] and entry["reason"] == NO_KEY for entry in mistral["models"])
    assert (code, kind) == (protocol.UNKNOWN_MODEL.code, "unknownModel")
    assert state["contextWindow"] == 9000
    assert "SENTINEL" not in json.dumps([listed, mistral, state])


async def test_providers_of_an_untrusted_editor_configuration_get_no_key_and_no_request(
    tmp_path: Path, server: ModelServer
) -> None:
    variables = {**_home(tmp_path, server), "OPENAI_API_KEY": "SENTINEL-8"}
    evil: Json = {
        "providers": {
            name: {"baseUrl": server.url, "key": "OPENAI_API_KEY"} for name in ("evil", "openai-chat")
        }
    }
    folder = _work(tmp_path)
    async with wire_session(folder, "one/m", mode="none", variables=variables, settings=evil) as session:
        code, kind, _ = await _refused(session, "session/setModel", model="evil/m")
    assert (code, kind) == (protocol.UNKNOWN_MODEL.code, "unknownModel")
    assert server.requests == []


@pytest.mark.covers("R175")
async def test_programs_of_the_agent_do_not_see_the_keys_of_providers(
    tmp_path: Path, server: ModelServer
) -> None:
    extra = f'[providers.corp]\nbaseUrl = "{server.url}"\nkey = "CORP_ACCESS"\n'
    variables = {**_home(tmp_path, server, extra), "CORP_ACCESS": "SENTINEL-9", "CORP_COLOUR": "blue"}
    call = {"id": "c1", "name": "bash", "arguments": {"command": "echo [$CORP_ACCESS] [$CORP_COLOUR]"}}
    server.play(chat_answer({"calls": [call]}), HI)
    async with wire_session(_work(tmp_path), "corp/m", mode="all", variables=variables) as session:
        assert (await soon(session.prompt("Hi")))["text"] == "Hi"
    assert server.requests[1].headers["authorization"] == "Bearer SENTINEL-9"
    assert "[] [blue]" in server.requests[1].json["messages"][-1]["content"]


@pytest.mark.covers("R175")
async def test_no_key_is_in_any_message_event_or_log(tmp_path: Path, server: ModelServer) -> None:
    """Keys from all sources but the keyring, each through success, refusal and a broken stream."""
    printing = json.dumps([sys.executable, "-c", "print('SENTINEL-command')"])
    extra = (
        f'[providers.three]\nbaseUrl = "{server.url}"\nkey = "SENTINEL-config"\n'
        f'headers = {{ X-Odd = "SENTINEL-header" }}\n'
        f'[providers.four]\nbaseUrl = "{server.url}"\nkeyCommand = {printing}\n'
        '[providers.five]\nbaseUrl = "http://127.0.0.1:9"\nkey = "SENTINEL-lost"\n'
        f'[providers.six]\nbaseUrl = "{server.url}"\nkey = "SIX_KEY"\n'
        f'[trust]\nfolders = ["{tmp_path}"]\n'
    )
    variables = {**_home(tmp_path, server, extra), "ONE_KEY": "SENTINEL-environment"}
    folder = _work(tmp_path)
    (folder / ".env").write_text("SIX_KEY=SENTINEL-dotenv\nONE_KEY='SENTINEL-broken\n", encoding="utf-8")
    errors = tmp_path / "stderr"
    command = ("sh", "-c", f'exec "$0" "$@" 2>"{errors}"', *SERVER)
    answers: list[Any] = []
    async with wire_session(folder, "one/m", mode="none", variables=variables, command=command) as session:
        for name in ("one", "three", "four", "six"):
            await soon(session.request("session/setModel", model=f"{name}/m"))
            for answer in (HI, *_bad_answers(name)):
                server.play(answer)
                answers.append(await soon(session.prompt("Hi")))
        await soon(session.request("session/setModel", model="five/m"))
        answers += [await _state(session), await soon(session.request("agent/models"))]
    asked = [request for request in server.requests if request.path == "/v1/chat/completions"]
    sent = [request.headers.get("authorization") for request in asked]
    assert set(sent) == {f"Bearer SENTINEL-{source}" for source in SOURCES}
    home = Path(variables["PILOTHOUSE_HOME"])
    logs = [path.read_text("utf-8", "replace") for path in (errors, *home.rglob("*.log*"))]
    doctor = await _doctor({**os.environ, **variables, "PILOTHOUSE_MODEL": "six/m"}, folder)
    told = ["three from config", "four from command", "six from dotenv", "six/m (key from dotenv)"]
    assert [text for text in (*told, "line 2: ONE_KEY is not taken") if text not in doctor] == []
    assert "SENTINEL" not in json.dumps([answers, session.events, *logs, doctor])


def _bad_answers(name: str) -> list[Answer]:
    secrets = {
        "one": "environment",
        "three": "config, SENTINEL-header",
        "four": "command",
        "six": "dotenv",
    }[name]
    said = {"error": {"message": f"wrong: SENTINEL-{secrets}"}}
    return [json_answer(401, said), Answer.of(chat_body(said, done=False)), json_answer(400, said)]


async def _doctor(environment: dict[str, str], folder: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "pilothouse_cli.main", "doctor", "--json"),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 20)
    return output.decode()
