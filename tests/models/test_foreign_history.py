"""Histories that a format has no place for as they are."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ImageBlock, ToolCall
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.messages.request import AnthropicRequests
from pilothouse_agent.models.model_traits import ModelTraits
from pilothouse_agent.models.responses.request import ResponsesRequests
from support.asking import assistant, model_request, tool_result, user

UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
SIGNED: JsonObject = {"google": {"thought_signature": "c2ln"}}


def _body(requests: Any, request: ModelRequest) -> Any:
    return json.loads(requests.body(request, model="m", traits=ModelTraits()))


@pytest.mark.covers("W105")
@pytest.mark.parametrize("requests", [ChatRequests(), AnthropicRequests(), ResponsesRequests()])
def test_a_history_without_anything_in_it_still_asks(requests: Any) -> None:
    request = ModelRequest("s1", "turn", "p/m", "Be brief.", (assistant("  "),), ())
    body = _body(requests, request)
    messages = [message for message in body.get("messages") or body["input"] if message["role"] != "system"]
    assert [message["role"] for message in messages] == ["user"]
    assert "Go on." in json.dumps(messages)


@pytest.mark.covers("W107")
@pytest.mark.parametrize("requests", [ChatRequests(), AnthropicRequests(), ResponsesRequests()])
def test_blanks_beside_a_call_are_left_out(requests: Any) -> None:
    def turn(*said: str) -> ModelRequest:
        return model_request(assistant(*said, ToolCall("c1", "read", {})), tool_result("c1", "a"))

    assert _body(requests, turn(" \n", "")) == _body(requests, turn())


KINDS = {
    "image/png": b"\x89PNG\r\n\x1a\n\0\0\0\x0d",
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\1",
    "image/gif": b"GIF89a\1\0\1\0\0\0",
    "image/webp": b"RIFF\x1a\0\0\0WEBPVP8L",
}
TOLD = [(b64encode(data).decode(), "image/x", kind) for kind, data in KINDS.items()]
SILENT = [(data, "image/png", "image/png") for data in ("", "AAAAAAAA", "no base64", "A")]


@pytest.mark.covers("W115")
@pytest.mark.parametrize(("data", "called", "kind"), [*TOLD, *SILENT])
def test_an_image_goes_out_as_what_it_is_and_not_as_it_was_called(data: str, called: str, kind: str) -> None:
    request = model_request(user(ImageBlock(called, data)))
    address = f"data:{kind};base64,{data}"
    source = {"type": "base64", "media_type": kind, "data": data}

    chat, messages = (
        _body(requests, request)["messages"] for requests in (ChatRequests(), AnthropicRequests())
    )
    responses = _body(ResponsesRequests(), request)["input"]

    assert chat[0]["content"] == [{"type": "image_url", "image_url": {"url": address}}]
    assert responses[0]["content"] == [{"type": "input_image", "image_url": address, "detail": "auto"}]
    assert messages[0]["content"][0]["source"] == source


@pytest.mark.covers("W29")
@pytest.mark.parametrize(
    ("model", "extras"),
    [
        ("gemini/gemini-3-pro", [UNSIGNED, None]),
        ("gemini/gemini-10-pro", [UNSIGNED, None]),
        ("gemini/gemini-2.5-pro", [None, None]),
        ("gemini/signing", [SIGNED, None]),
    ],
)
def test_the_first_call_of_another_model_tells_that_it_has_no_signature(
    model: str, extras: list[Any]
) -> None:
    own: JsonObject = {"extra_content": SIGNED, "model": "gemini/signing"}
    calls = ToolCall("c1", "read", {}, extra=own), ToolCall("c2", "read", {})
    request = model_request(assistant(*calls), tool_result("c1", "a"), tool_result("c2", "b"), model=model)
    body = _body(ChatRequests(ChatDialect(schema="reduced")), request)
    answer = next(message for message in body["messages"] if message["role"] == "assistant")
    assert [call.get("extra_content") for call in answer["tool_calls"]] == extras


def test_servers_of_others_never_see_a_word_of_signatures() -> None:
    request = model_request(
        assistant(ToolCall("c1", "read", {})), tool_result("c1", "a"), model="p/gemini-3-pro"
    )
    assert "signature" not in json.dumps(_body(ChatRequests(), request))
