"""Servers on the user's own machine: how much they take in, and which models they have."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.json_types import JsonValue
from support.asking import Seen, ask, failure, model_request, notices, seen
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.providers import registry

HI = Answer.of(chat_body(text_chunk("Hi"), finish_chunk()))

Facts = dict[str, JsonValue]

OLLAMA = "start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or give the model a num_ctx of its own"
LLAMACPP = "start llama-server with -c 32768"
LMSTUDIO = "load the model with `lms load --context-length 32768`"
VLLM = "start vLLM with --max-model-len 32768"

SMALL: list[tuple[str, Facts, int, str]] = [
    ("ollama", {"/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]}}, 4096, OLLAMA),
    ("ollama", {"/api/show": {"parameters": 'stop "x"\nnum_ctx                        2048'}}, 2048, OLLAMA),
    (
        "ollama",
        {
            "/api/ps": {"models": [{"model": "m", "context_length": 8192}]},
            "/api/show": {"parameters": "num_ctx 65536", "model_info": {"qwen3.context_length": 131072}},
        },
        8192,
        OLLAMA,
    ),
    ("llamacpp", {"/props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096, LLAMACPP),
    ("llamacpp", {"/v1/models": {"data": [{"id": "x.gguf", "meta": {"n_ctx": 512}}]}}, 512, LLAMACPP),
    (
        "lmstudio",
        {"/api/v0/models": {"data": [{"id": "n"}, {"id": "m", "loaded_context_length": 4096}]}},
        4096,
        LMSTUDIO,
    ),
    ("vllm", {"/v1/models": {"data": [{"id": "m", "max_model_len": 8192}]}}, 8192, VLLM),
]


@pytest.mark.covers("R272")
@pytest.mark.parametrize(("preset", "facts", "window", "remedy"), SMALL)
async def test_a_window_that_is_too_small_is_told_once_in_a_session_with_what_to_set(
    preset: str, facts: Facts, window: int, remedy: str, server: ModelServer
) -> None:
    _know(server, facts)
    server.play(HI, HI, HI)
    async with registry(environment=_at(preset, server)) as models:
        answers = [
            await ask(models, model_request(model=f"{preset}/m", session_id=session))
            for session in ("s1", "s1", "s2")
        ]
        limits = models.limits(f"{preset}/m")
    text = (
        f"{preset}/m takes in {window:,} tokens, which instructions, tools and a file or two fill: {remedy}."
    )
    told = [Notice("warning", text, "smallWindow")]
    assert [notices(answer) for answer in answers] == [told, [], told]
    assert ([seen(answer) for answer in answers], limits.context_window) == ([Seen("Hi")] * 3, window)


ENOUGH: list[tuple[str, Facts, int | None]] = [
    ("ollama", {"/api/ps": {"models": [{"name": "m", "context_length": 32768}]}}, 32768),
    ("ollama", {"/api/ps": {"models": [{"name": "other", "context_length": 4096}]}, "/api/show": {}}, None),
    ("ollama", {"/api/ps": {"models": "odd"}, "/api/show": {"parameters": "num_ctx many"}}, None),
    ("llamacpp", {"/props": {"default_generation_settings": {"n_ctx": 65536}}}, 65536),
    ("lmstudio", {"/api/v0/models": {"data": [{"id": "m", "max_context_length": 4096}]}}, None),
    ("vllm", {"/v1/models": []}, None),
    ("vllm", {}, None),
]


@pytest.mark.covers("R272")
@pytest.mark.parametrize(("preset", "facts", "window"), ENOUGH)
async def test_a_window_that_is_large_or_not_told_is_no_matter(
    preset: str, facts: Facts, window: int | None, server: ModelServer
) -> None:
    _know(server, facts)
    server.play(HI)
    async with registry(environment=_at(preset, server)) as models:
        events = await ask(models, model_request(model=f"{preset}/m"))
        limits = models.limits(f"{preset}/m")
    assert (notices(events), seen(events), limits.context_window) == ([], Seen("Hi"), window)


@pytest.mark.covers("R272")
async def test_a_model_that_was_not_loaded_at_first_is_asked_for_again(server: ModelServer) -> None:
    server.facts["/api/ps"] = [
        json_answer(200, {"models": []}),
        json_answer(200, {"models": [{"name": "m", "context_length": 4096}]}),
    ]
    server.play(HI, HI, HI)
    async with registry(environment=_at("ollama", server)) as models:
        answers = [await ask(models, model_request(model="ollama/m")) for _ in range(3)]
    assert [len(notices(answer)) for answer in answers] == [0, 1, 0]
    assert [question.path for question in server.questions].count("/api/ps") == 2


@pytest.mark.covers("R272")
async def test_what_the_user_says_of_a_window_counts_and_nobody_is_asked(server: ModelServer) -> None:
    server.play(HI)
    settings = {"ollama": {"models": {"m": {"contextWindow": 40_000}}}}
    async with registry(settings, _at("ollama", server)) as models:
        events = await ask(models, model_request(model="ollama/m"))
    assert (notices(events), server.questions) == ([], [])


MISSING = json_answer(
    404, {"error": {"message": 'model "m" not found, try pulling it first', "type": "api_error"}}
)


@pytest.mark.covers("R274")
@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (["qwen3:8b", "gpt-oss:20b"], " It has ollama/qwen3:8b, ollama/gpt-oss:20b."),
        ([], " It has no model yet."),
        ([f"m{number}" for number in range(22)], "ollama/m18, ollama/m19 and 2 more."),
    ],
)
async def test_a_local_server_without_the_model_tells_which_it_has(
    listed: list[str], told: str, server: ModelServer
) -> None:
    server.play(MISSING)
    server.facts["/v1/models"] = [json_answer(200, {"data": [{"id": name} for name in listed]})]
    async with registry(environment=_at("ollama", server)) as models:
        error = failure(await ask(models, model_request(model="ollama/m")))
    assert (error.kind, error.message.startswith("ollama answered 404: "), error.message.endswith(told)) == (
        "modelNotFound",
        True,
        True,
    )


def _at(preset: str, server: ModelServer) -> dict[str, str]:
    return {f"{preset.upper()}_BASE_URL": server.url}


def _know(server: ModelServer, facts: Facts) -> None:
    server.facts.update({path: [json_answer(200, fact)] for path, fact in facts.items()})
