"""What helps where a server does not know the path, or does not have the model, that it was asked for."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.json_types import JsonValue
from support.asking import ask, failure, model_request
from support.model_server import ModelServer, json_answer
from support.providers import Settings, registry

UNKNOWN_PATHS: list[tuple[int, JsonValue]] = [
    (404, {"detail": "Not Found"}),
    (404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}),
    (404, {"error": {"message": "Invalid URL (POST /v1/responses)", "type": "invalid_request_error"}}),
    (405, {"detail": "Method Not Allowed"}),
    (400, {"error": "Unknown endpoint"}),
    (200, {"error": "Unexpected endpoint or method. (POST /v1/responses). Returning 200 anyway"}),
]


@pytest.mark.covers("R274")
@pytest.mark.parametrize(("status", "body"), UNKNOWN_PATHS)
@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("openai", "name the model openai-chat/…."),
        ("corp", 'set providers.corp.format to "openai-chat".'),
    ],
)
async def test_a_server_that_only_chats_is_told_from_one_at_another_address(
    name: str, advice: str, status: int, body: JsonValue, server: ModelServer
) -> None:
    server.play(json_answer(status, body))
    settings: Settings = {name: {"format": "openai", "baseUrl": server.url}}
    async with registry(settings) as models:
        error = failure(await ask(models, model_request(model=f"{name}/m")))
    assert (error.kind, error.retryable, [request.path for request in server.requests]) == (
        "notFound",
        False,
        ["/v1/responses"],
    )
    assert error.message.endswith(f"Where a server speaks only Chat Completions, {advice}")


@pytest.mark.covers("R274")
async def test_a_model_that_is_not_there_is_no_reason_to_speak_otherwise(server: ModelServer) -> None:
    server.play(json_answer(404, {"error": {"message": "The model `m` does not exist"}}))
    async with registry({"openai": {"baseUrl": server.url}}) as models:
        error = failure(await ask(models, model_request(model="openai/m")))
    assert (error.kind, "Chat Completions" in error.message) == ("modelNotFound", False)
