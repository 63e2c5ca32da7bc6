"""Marks for the prompt cache where a router passes chat requests on to Anthropic's models."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ImageBlock, ModelMessage, ToolCall
from support.asking import ask, assistant, model_request, seen, tool_result, user
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.providers import registry

HI = Answer.of(chat_body(text_chunk("Hi"), finish_chunk()))
CALLS = (ToolCall("c1", "read_file", {}), ToolCall("c2", "read_file", {}))
LOOK = ImageBlock("image/png", "iVBO")
LOOP = (
    user("Fix it"),
    assistant(CALLS[0]),
    tool_result("c1", "one"),
    assistant(CALLS[1]),
    tool_result("c2", "two"),
)

HISTORIES: dict[str, tuple[tuple[ModelMessage, ...], list[str]]] = {
    "at first": ((user("Hi"),), ["system", "user:Hi"]),
    "in a loop of calls": (LOOP, ["system", "tool:one", "tool:two"]),
    "two results at once": (
        (user("Hi"), assistant(*CALLS), tool_result("c1", "one"), tool_result("c2", "two")),
        ["system", "user:Hi", "tool:two"],
    ),
    "behind an answer": ((*LOOP, assistant("Done"), user("More")), ["system", "tool:two", "user:More"]),
    "before an image": ((user("See", LOOK),), ["system", "user:See"]),
}


@pytest.mark.covers("R295")
@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("maker", ["anthropic/claude-sonnet-4.5", "~anthropic/claude-haiku-latest:beta"])
async def test_the_prompt_and_the_ends_of_the_last_two_turns_are_marked(
    maker: str, name: str, server: ModelServer
) -> None:
    history, wanted = HISTORIES[name]
    assert _marked(await _sent(server, f"openrouter/{maker}", history)) == wanted


@pytest.mark.covers("R295")
async def test_a_request_finds_the_marks_of_the_one_before(server: ModelServer) -> None:
    server.play(HI, HI)
    async with registry(environment=_at(server)) as models:
        for history in (LOOP[:3], LOOP):
            await ask(models, _request("openrouter/anthropic/claude-opus-4.6", history))
    first, second = (set(_marked(request.json)) for request in server.requests)
    assert (first & second, len(second)) == ({"system", "tool:one"}, 3)


@pytest.mark.covers("R295")
@pytest.mark.parametrize(
    "model",
    ["openrouter/openai/gpt-5.2", "openrouter/google/gemini-2.5-pro", "openai-chat/claude-sonnet-4-5"],
)
async def test_models_and_servers_that_know_no_marks_get_none(model: str, server: ModelServer) -> None:
    assert _marked(await _sent(server, model, LOOP)) == []


@pytest.mark.covers("R295")
async def test_marks_that_are_refused_are_left_out(server: ModelServer) -> None:
    server.play(json_answer(400, {"error": {"message": "cache_control: Extra inputs are not permitted"}}), HI)
    async with registry(environment=_at(server)) as models:
        end = seen(await ask(models, _request("openrouter/anthropic/claude-opus-4.6", LOOP))).end
    assert (end, [len(_marked(request.json)) for request in server.requests]) == ("stop", [3, 0])


async def _sent(server: ModelServer, model: str, history: tuple[ModelMessage, ...]) -> Any:
    server.play(HI)
    async with registry(environment=_at(server)) as models:
        assert seen(await ask(models, _request(model, history))).end == "stop"
    return server.requests[-1].json


def _request(model: str, history: tuple[ModelMessage, ...]) -> Any:
    return model_request(*history, model=model, system="S")


def _at(server: ModelServer) -> dict[str, str]:
    return {"OPENROUTER_BASE_URL": server.url, "OPENAI_BASE_URL": server.url}


def _marked(body: Any) -> list[str]:
    """The messages with a mark, each with the text that it stands on."""
    found: list[str] = []
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part.get("cache_control") == {"type": "ephemeral"}:
                role = message["role"]
                found.append(role if role == "system" else f"{role}:{part['text']}")
    return found
