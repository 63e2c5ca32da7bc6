"""The providers of all formats on the wire: addresses, keys, cancellation, and no secret told to anybody."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import Delta, Finished, ModelLimits, StreamEvent, ToolSpec
from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.models.choosing.wire_formats import Provider, access_to, make_provider, wire_format
from pilothouse_agent.models.http.access import Access
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.http.wire_provider import WireProvider
from pilothouse_agent.models.keys.credentials import Credentials
from pilothouse_agent.models.model_traits import ModelTraits
from pilothouse_agent.models.responses.wire import responses
from support.asking import MakeProvider, Seen, ask, failure, model_request, seen
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.typed_events import answer, block, completed, delta, message, start, text_delta, typed_body

KEY = "SENTINEL-key-123"
HEADER = "SENTINEL-header-456"
TEXT = {"type": "text", "text": ""}
WHOLE = {
    "openai-chat": chat_body(text_chunk("Hi"), finish_chunk()),
    "openai": answer(text_delta("Hi")),
    "anthropic": message(*block(TEXT, delta("text", "Hi"))),
}
PART = {
    "openai-chat": chat_body(text_chunk("Hi"), done=False),
    "openai": typed_body(text_delta("Hi")),
    "anthropic": typed_body(start(), *block(TEXT, delta("text", "Hi"))),
}
PATHS = {"openai-chat": "/v1/chat/completions", "openai": "/v1/responses", "anthropic": "/v1/messages"}
AUTHORIZED = {
    "openai-chat": {"authorization": f"Bearer {KEY}"},
    "openai": {"authorization": f"Bearer {KEY}"},
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
}
WIRES = [*WHOLE]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_request_goes_to_the_path_of_its_format_with_key_and_headers(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(Answer.of(WHOLE[wire]))
    events = await ask(provider(wire, key=KEY, headers={"x-team": "a"}), model_request(model=f"{wire}/org/m"))

    assert events == [Delta("text", 0, "Hi"), Finished("stop", model="m")]
    (sent,) = server.requests
    wanted = {**AUTHORIZED[wire], "x-team": "a", "content-type": "application/json"}
    assert (sent.path, sent.json["model"], sent.json["stream"]) == (PATHS[wire], "org/m", True)
    assert {name: sent.headers[name] for name in wanted} == wanted


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_needs_no_key_is_sent_none(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(Answer.of(WHOLE[wire]))
    assert seen(await ask(provider(wire), model_request(model=f"{wire}/m"))) == Seen("Hi")
    (sent,) = server.requests
    assert {"authorization", "x-api-key"} & sent.headers.keys() == set()


ADDRESSES = {
    "https://h": "https://h/v1/messages",
    "https://h/": "https://h/v1/messages",
    "https://h/v1": "https://h/v1/messages",
    "https://h/v1/": "https://h/v1/messages",
    "https://h/v1/messages": "https://h/v1/messages",
    "https://h/proxy/anthropic?x=1": "https://h/proxy/anthropic/v1/messages?x=1",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_may_end_anywhere_before_the_path_of_the_format(address: str) -> None:
    assert _way_in("anthropic", {"ANTHROPIC_BASE_URL": address}) == (ADDRESSES[address], "")


def test_addresses_and_keys_come_from_the_usual_variables() -> None:
    names = {"ANTHROPIC_BASE_URL": " https://a/ ", "ANTHROPIC_API_KEY": " k1 "}
    names |= {"OPENAI_BASE_URL": "https://o/v1", "OPENAI_API_KEY": "k2"}
    assert [_way_in(name, names) for name in ("anthropic", "openai")] == [
        ("https://a/v1/messages", "k1"),
        ("https://o/v1/responses", "k2"),
    ]
    assert _way_in("anthropic", {}) == ("https://api.anthropic.com/v1/messages", "")
    assert _way_in("openai", {}) == ("https://api.openai.com/v1/responses", "")


def _way_in(name: str, environment: dict[str, str]) -> tuple[str, str]:
    config = read_providers({}, environment)[0][name]
    access = access_to(config, Credentials(environment).at_hand(config))
    return access.url(wire_format(config)), access.key


UNUSABLE: dict[str, tuple[str, dict[str, str], ErrorInfo]] = {
    "no key for Anthropic": (
        "anthropic",
        {},
        ErrorInfo(
            "auth",
            "anthropic needs a key: set ANTHROPIC_API_KEY, or another server in ANTHROPIC_BASE_URL.",
        ),
    ),
    "no key for OpenAI": (
        "openai",
        {},
        ErrorInfo("auth", "openai needs a key: set OPENAI_API_KEY, or another server in OPENAI_BASE_URL."),
    ),
    "a key that is none": (
        "anthropic",
        {"ANTHROPIC_API_KEY": "SENTINEL key"},
        ErrorInfo("auth", "The key in ANTHROPIC_API_KEY holds characters that no key has; copy it again."),
    ),
    "an address that is none": (
        "anthropic",
        {"ANTHROPIC_BASE_URL": "h:80"},
        ErrorInfo(
            "invalidRequest",
            "ANTHROPIC_BASE_URL must be an http or https address without user name and password.",
        ),
    ),
}


@pytest.mark.covers("R175")
@pytest.mark.parametrize("name", UNUSABLE)
async def test_settings_that_cannot_work_are_told_without_a_request(name: str) -> None:
    provider, environment, error = UNUSABLE[name]
    config = read_providers({}, environment)[0][provider]
    asked = make_provider(config, Credentials(environment).at_hand(config), timeouts=Timeouts(4, 4))
    assert await _refused(asked) == error


@pytest.mark.covers("R175")
async def test_a_header_that_is_none_is_told_without_its_value_and_without_a_request() -> None:
    access = Access("openai", "http://h", headers={"x-a": "SENTINEL\nx"})
    assert await _refused(WireProvider(responses(), access)) == ErrorInfo(
        "invalidRequest", "The header 'x-a' that the settings give openai is none; correct it there."
    )


async def _refused(asked: Provider) -> ErrorInfo:
    await asked.warm()
    error = failure(await ask(asked, model_request()))
    await asked.aclose()
    return error


@pytest.mark.parametrize("wire", WIRES)
async def test_text_is_handed_out_while_the_answer_goes_on(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    heard = asyncio.Event()
    server.play(Answer((PART[wire], heard, WHOLE[wire].removeprefix(PART[wire]))))
    events: list[StreamEvent] = []
    async with asyncio.timeout(5):
        async for event in provider(wire).stream(model_request(model=f"{wire}/m")):
            events.append(event)
            heard.set()
    assert events[0] == Delta("text", 0, "Hi")
    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize("wire", WIRES)
async def test_one_connection_serves_request_after_request(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    asked = provider(wire)
    server.play(Answer.of(WHOLE[wire]), json_answer(429, {}), Answer.of(WHOLE[wire], cut=1))
    ends = [seen(await ask(asked, model_request(model=f"{wire}/m"))).end for _ in range(3)]
    assert (ends, server.connections) == (["stop", "rateLimit", "stop"], 1)


@pytest.mark.covers("R163")
@pytest.mark.parametrize("wire", WIRES)
async def test_closing_the_stream_closes_the_connection(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(Answer((PART[wire],), end="hang"))
    stream = aiter(provider(wire).stream(model_request(model=f"{wire}/m")))
    reading = asyncio.ensure_future(anext(stream))
    async with asyncio.timeout(5):
        assert await reading == Delta("text", 0, "Hi")
        reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        reading.cancel()
        await server.left.wait()


@pytest.mark.parametrize("wire", WIRES)
async def test_silence_beyond_the_idle_limit_is_a_retryable_failure(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(Answer((PART[wire],), end="hang"))
    asked = provider(wire, timeouts=Timeouts(4, 0.1))
    error = failure(await ask(asked, model_request(model=f"{wire}/m")))
    assert error == ErrorInfo("timeout", f"{wire} was silent for 0.1 s.", retryable=True)


@pytest.mark.parametrize("wire", WIRES)
async def test_limits_are_those_that_are_known_of_the_model(wire: str, provider: MakeProvider) -> None:
    limits = ModelLimits(200_000, 64_000)
    asked = provider(
        wire, traits=lambda model: ModelTraits(limits) if model == f"{wire}/m" else ModelTraits()
    )
    assert (asked.limits(f"{wire}/m"), asked.limits("x/y")) == (limits, ModelLimits())


def _told(wire: str) -> list[Answer]:
    """Answers of a server that tells our secrets wherever it can."""
    secret = f"{KEY} {HEADER}"
    event = {"type": "error", "error": {"message": secret, "type": "api_error"}}
    page = f"<html><title>{secret}</title></html>".encode()
    headers = {"content-type": "text/event-stream", "x-request-id": KEY}
    return [
        Answer.of(WHOLE[wire], headers={**headers, "retry-after": HEADER}),
        json_answer(401, {"error": {"message": f"bad key {secret}", "code": secret}, "request_id": KEY}),
        json_answer(400, {"error": {"message": f"stream_options prompt_cache_key cache_control {secret}"}}),
        Answer.of(page, status=502),
        Answer.of(page),
        Answer.of(f"not JSON {secret}".encode(), status=500),
        Answer.of(f"not JSON {secret}".encode()),
        Answer.of(PART[wire] + typed_body(event), headers=headers),
        Answer.of(PART[wire] + f"event: error\ndata: {secret}\n\n".encode()),
        Answer.of(typed_body(completed("failed", error={"message": secret}))),
        Answer.of(PART[wire] + f'data: {{"{secret}\n\n'.encode()),
        Answer((PART[wire], 0.02), end="abort", headers=headers),
        Answer((PART[wire],), end="reset"),
        Answer.of(PART[wire], headers={"content-encoding": "gzip"}),
        Answer(status=302, headers={"location": f"http://x/{KEY}"}),
    ]


@pytest.mark.covers("R175")
@pytest.mark.parametrize("wire", WIRES)
async def test_no_secret_is_in_any_event_or_log(
    wire: str, server: ModelServer, provider: MakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = _told(wire)
    server.play(*answers)
    asked = provider(wire, key=KEY, headers={"x-team": HEADER})
    events: list[StreamEvent] = []
    while server.answers:
        events += await ask(asked, model_request(model=f"{wire}/m"))
    secrets = [secret for secret in (KEY, HEADER) if secret in repr(events) or secret in caplog.text]
    assert secrets == []
    assert len(server.requests) == len(answers)


@pytest.mark.covers("R175")
@pytest.mark.parametrize("wire", WIRES)
async def test_what_nobody_foresaw_is_a_failure_that_shows_no_secret(
    wire: str, server: ModelServer, provider: MakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    unwritable: Any = {"type": "object", "default": {KEY: object()}, "title": f"{KEY} {HEADER}"}
    asked = provider(wire, key=KEY, headers={"x-team": HEADER})
    events = await ask(asked, model_request(model=f"{wire}/m", tools=(ToolSpec("odd", "", unwritable),)))
    assert seen(events) == Seen(end="unknown")
    assert failure(events).message == f"{wire} failed on something unforeseen: TypeError."
    assert [secret for secret in (KEY, HEADER) if secret in caplog.text] == []
    assert server.requests == []


@pytest.mark.covers("L7")
async def test_a_provider_on_this_machine_that_nobody_started_is_not_asked_again() -> None:
    entries: JsonObject = {wire: {"baseUrl": "http://127.0.0.1:1/v1"} for wire in WIRES}
    configs, _ = read_providers(entries, {})
    asked = [make_provider(configs[wire], None, timeouts=Timeouts(4, 4)) for wire in WIRES]
    errors = [failure(await ask(provider, model_request())) for provider in asked]
    for provider in asked:
        await provider.aclose()
    assert [(error.kind, error.retryable) for error in errors] == [("connectionLost", False)] * 3
