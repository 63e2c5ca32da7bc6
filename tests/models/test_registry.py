"""Finding the provider of a model id, and what is told when there is none or it cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import ModelLimits
from pilothouse_agent.models.registry import default_registry
from support.asking import Seen, ask, failure, model_request, seen
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, text_chunk


@pytest.mark.parametrize("model", ["nobody/m", "nobody", "", "openai-chat/", "/m"])
async def test_a_model_of_no_provider_is_answered_with_those_there_are(model: str) -> None:
    registry = default_registry({})
    text = (
        f"There is no model {model!r}: an id is provider/model, and the providers are"
        " anthropic, openai, openai-chat, scripted."
    )
    assert failure(await ask(registry, model_request(model=model))) == ErrorInfo("modelNotFound", text)
    assert registry.limits(model) == ModelLimits()


@pytest.mark.parametrize("address", ["", "https://api.openai.com/v1/"])
async def test_openai_without_a_key_says_which_variable_to_set(address: str) -> None:
    registry = default_registry({"OPENAI_BASE_URL": address})
    text = "openai-chat needs a key: set OPENAI_API_KEY, or another server in OPENAI_BASE_URL."
    assert failure(await ask(registry, model_request())) == ErrorInfo("auth", text)


async def test_another_server_needs_no_key(server: ModelServer) -> None:
    server.play(Answer.of(chat_body(text_chunk("Hi"), finish_chunk())))
    registry = default_registry({"OPENAI_BASE_URL": f" {server.url}/ ", "OPENAI_API_KEY": ""})
    assert seen(await ask(registry, model_request(model="openai-chat/org/m"))) == Seen("Hi")
    assert registry.limits("openai-chat/m") == ModelLimits()
    (request,) = server.requests
    assert (request.path, request.json["model"]) == ("/v1/chat/completions", "org/m")
    assert "authorization" not in request.headers
    await registry.aclose()


@pytest.mark.covers("R175")
@pytest.mark.parametrize("key", ["“SENTINEL-123”", "SENTINEL\n123"])
async def test_a_key_with_characters_no_key_has_is_refused_without_showing_it(key: str) -> None:
    error = failure(await ask(default_registry({"OPENAI_API_KEY": key}), model_request()))
    text = "The key in OPENAI_API_KEY holds characters that no key has; copy it again."
    assert error == ErrorInfo("auth", text)


@pytest.mark.parametrize(
    "address",
    ["ftp://host/v1", "localhost:8080", "file:///etc/passwd", "http://", "http://u:p@h/", "http://[::1/"],
)
async def test_an_address_that_is_none_is_refused(address: str) -> None:
    error = failure(await ask(default_registry({"OPENAI_BASE_URL": address}), model_request()))
    text = "OPENAI_BASE_URL must be an http or https address without user name and password."
    assert error == ErrorInfo("invalidRequest", text)


async def test_the_scripted_model_logs_where_the_environment_says(tmp_path: Path) -> None:
    script, log = tmp_path / "s.json", tmp_path / "log"
    script.write_text(json.dumps({"turns": [{"text": "Hi"}]}), encoding="utf-8")
    registry = default_registry({"PILOTHOUSE_SCRIPT_LOG": str(log)})
    await registry.warm(f"scripted/{script}")
    assert seen(await ask(registry, model_request(model=f"scripted/{script}"))) == Seen("Hi")
    assert len(log.read_bytes().splitlines()) == 1
    await registry.aclose()
