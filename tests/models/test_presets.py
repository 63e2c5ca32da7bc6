"""What the presets' dialects do to a request, judged by rules of strict providers where these are at hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.models.model_traits import ModelTraits
from support.asking import Seen, ask, assistant, model_request, seen, tool_result, user
from support.conversions import cases, history_of, problems, request_of
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, text_chunk
from support.providers import registry

HI = Answer.of(chat_body(text_chunk("Hi"), finish_chunk()))
PROFILES = {
    "openai-chat": "openai-chat",
    "openrouter": "generic-chat",
    "deepseek": "deepseek-thinking",
    "mistral": "mistral",
    "groq": "generic-chat",
    "gemini": "gemini-openai",
    "ollama": "generic-chat",
    "lmstudio": "strict-template",
    "vllm": "strict-template",
    "llamacpp": "strict-template",
}
"""By preset, the rules it is judged by."""


async def _sent(server: ModelServer, preset: str, *messages: Any, thinking: Any = "off") -> Any:
    """The request that a preset makes, with an output limit of 9 tokens."""
    variable = {"openai-chat": "OPENAI"}.get(preset, preset.upper())
    server.play(HI)
    settings = {preset: {"models": {"m": {"maxOutput": 9}}}}
    async with registry(settings, {f"{variable}_BASE_URL": server.url}) as models:
        request = model_request(*messages, model=f"{preset}/m", system="S", thinking=thinking)
        assert seen(await ask(models, request)) == Seen("Hi")
    return server.requests[-1].json


@pytest.mark.parametrize("preset", PROFILES)
async def test_a_preset_is_reached_by_its_address_variable(preset: str, server: ModelServer) -> None:
    body = await _sent(server, preset)
    assert body["messages"][0] == {"role": "system", "content": "S"}
    assert body["model"] == "m"


@pytest.mark.covers("W104", "W116")
async def test_mistral_gets_short_ids_an_answer_after_results_and_no_options(server: ModelServer) -> None:
    turn = assistant(ToolCall("call_long_id", "read", {}), model="mistral/m")
    body = await _sent(server, "mistral", user("a"), turn, tool_result("call_long_id", "x"), user("b"))
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    (call,) = body["messages"][2]["tool_calls"]
    assert (len(call["id"]), call["id"].isalnum()) == (9, True)
    assert body["messages"][3]["tool_call_id"] == call["id"]
    assert sorted(body) == ["max_tokens", "messages", "model", "stream"]


OFF: list[tuple[str, str, dict[str, Any]]] = [
    ("openai-chat", "gpt-5-mini", {"reasoning_effort": "minimal"}),
    ("openai-chat", "gpt-5.2", {"reasoning_effort": "none"}),
    ("openai-chat", "o4-mini", {"reasoning_effort": "low"}),
    ("openai-chat", "gpt-4.1", {}),
    ("openai-chat", "unheard-of", {}),
    (
        "openai-chat",
        "Qwen/Qwen3-32B",
        {"enable_thinking": False, "chat_template_kwargs": {"enable_thinking": False}},
    ),
    ("openai-chat", "qwen3-coder-plus", {}),
    ("gemini", "gemini-2.5-flash", {"reasoning_effort": "none"}),
    ("gemini", "gemini-2.5-pro", {"reasoning_effort": "low"}),
    ("gemini", "gemini-3-flash-preview", {"reasoning_effort": "minimal"}),
    ("gemini", "gemini-3-pro-preview", {"reasoning_effort": "low"}),
    ("gemini", "gemini-2.0-flash", {}),
    ("openrouter", "openai/gpt-5", {"reasoning": {"effort": "minimal"}}),
    ("openrouter", "qwen/qwen3-235b-a22b", {"reasoning": {"enabled": False}}),
    ("openrouter", "anthropic/claude-sonnet-4.5", {}),
    ("ollama", "qwen3:8b", {"reasoning_effort": "none"}),
    ("ollama", "gpt-oss:20b", {"reasoning_effort": "low"}),
    ("ollama", "llama3.2", {}),
    ("groq", "qwen/qwen3-32b", {"reasoning_effort": "none"}),
    ("llamacpp", "Qwen3-8B-Q4_K_M.gguf", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("vllm", "zai-org/GLM-4.6", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("mistral", "magistral-medium-latest", {}),
    ("deepseek", "deepseek-chat", {"thinking": {"type": "disabled"}}),
]


@pytest.mark.covers("R298")
@pytest.mark.parametrize(("preset", "model", "said"), OFF)
async def test_a_model_that_would_think_of_itself_is_told_not_to(
    preset: str, model: str, said: dict[str, Any], server: ModelServer
) -> None:
    variable = {"openai-chat": "OPENAI"}.get(preset, preset.upper())
    server.play(HI)
    async with registry(environment={f"{variable}_BASE_URL": server.url}) as models:
        await ask(models, model_request(model=f"{preset}/{model}", thinking="off"))
    body = server.requests[-1].json
    words = ("reasoning_effort", "reasoning", "enable_thinking", "chat_template_kwargs", "thinking")
    assert {word: body[word] for word in words if word in body} == said


@pytest.mark.covers("W129")
@pytest.mark.parametrize(
    ("preset", "thinking", "tokens"),
    [
        ("openai-chat", {"reasoning_effort": "low"}, {"max_tokens": 9}),
        ("openrouter", {"reasoning": {"effort": "low"}}, {"max_tokens": 9}),
        ("groq", {"reasoning_effort": "low"}, {"max_completion_tokens": 9}),
        ("mistral", {}, {"max_tokens": 9}),
        ("ollama", {"reasoning_effort": "low"}, {"max_tokens": 9}),
    ],
)
async def test_thinking_and_limits_are_asked_for_as_the_server_knows_them(
    preset: str, thinking: dict[str, Any], tokens: dict[str, Any], server: ModelServer
) -> None:
    body = await _sent(server, preset, thinking="low")
    common = ("model", "messages", "stream", "stream_options")
    assert {name: value for name, value in body.items() if name not in common} == {**thinking, **tokens}


async def test_deepseek_is_told_not_to_think(server: ModelServer) -> None:
    assert (await _sent(server, "deepseek"))["thinking"] == {"type": "disabled"}
    thinking = await _sent(server, "deepseek", thinking="low")
    assert (thinking["thinking"], thinking["reasoning_effort"]) == ({"type": "enabled"}, "low")


@pytest.mark.covers("W103")
async def test_users_in_a_row_are_one_for_templates_that_want_turns(server: ModelServer) -> None:
    body = await _sent(server, "llamacpp", user("a"), user("b"))
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


async def test_gemini_gets_schemas_it_knows() -> None:
    tool = ToolSpec(
        "t", "", {"type": "object", "properties": {"a": {"type": ["string", "null"], "const": "x"}}}
    )
    writer = ChatRequests(read_providers({}, {})[0]["gemini"].dialect)
    body = json.loads(writer.body(model_request(user("Hi"), tools=(tool,)), model="m"))
    sent = body["tools"][0]["function"]["parameters"]["properties"]["a"]
    assert "const" not in sent
    assert isinstance(sent["type"], str)


def _judged() -> list[Any]:
    """Each case with the presets it is meant for."""
    return [
        pytest.param(*case.values, preset, id=f"{case.id}-{preset}", marks=case.marks)
        for case in cases()
        for preset, profile in PROFILES.items()
        if case.values[1] in (profile, "")
    ]


@pytest.mark.parametrize(("case", "target", "preset"), _judged())
def test_a_history_goes_to_every_preset(case: Any, target: str, preset: str) -> None:
    options = case["options"]
    traits = ModelTraits(images=options.get("vision", True), output_cap=options.get("max_tokens"))
    request = request_of(case, target, history_of(case, target))
    writer = ChatRequests(read_providers({}, {})[0][preset].dialect)
    body = json.loads(writer.body(request, model=request.model.partition("/")[2], traits=traits))
    if preset == "groq":
        # The rules of servers in general do not know it; this one prefers it.
        body.pop("max_completion_tokens", None)
    assert problems(body, target) == []
