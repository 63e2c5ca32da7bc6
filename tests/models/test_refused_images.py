"""A refusal of an image says which one, as far as the server's words do, so that the session can go on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from pilothouse_agent.kernel.agent import Agent
from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.kernel.messages import ImageBlock, ModelMessage, RefusedBlock, TextBlock, ToolCall
from pilothouse_agent.kernel.parts import AgentParts
from support.asking import MakeProvider, ask, assistant, failure, model_request, seen, tool_result, user
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.typed_events import answer, block, delta, message, text_delta

HI = {
    "openai-chat": chat_body(text_chunk("Hi"), finish_chunk()),
    "openai": answer(text_delta("Hi")),
    "anthropic": message(*block({"type": "text", "text": ""}, delta("text", "Hi"))),
}
FIRST, SECOND, THIRD = (ImageBlock("image/png", data) for data in ("Zmly", "c2Vj", "dGhp"))
CALLS = (ToolCall("c1", "read_file", {}), ToolCall("c2", "read_file", {}))
HISTORY: tuple[ModelMessage, ...] = tuple(
    replace(each, id=f"m{number}")
    for number, each in enumerate(
        (
            user("Look", "  ", FIRST),
            assistant("I see", *CALLS),
            tool_result("c1", "One", SECOND),
            tool_result("c2", "Two", THIRD),
            assistant("Both"),
            user("And now?"),
        )
    )
)

PLACES: list[tuple[str, str, RefusedBlock]] = [
    ("anthropic", "messages.0.content.1.image.source.base64.data", RefusedBlock("m0", 2)),
    ("anthropic", "messages.2.content.0.tool_result.content.1.image.source.base64", RefusedBlock("m2", 1)),
    ("anthropic", "messages.2.content.1.tool_result.content.1.image.source.base64", RefusedBlock("m3", 1)),
    ("anthropic", "messages.2.content.1", RefusedBlock("m3")),
    ("anthropic", "messages.2", RefusedBlock()),
    ("anthropic", "messages.9.content.1", RefusedBlock()),
    ("openai", "input[0].content[1].image_url", RefusedBlock("m0", 2)),
    ("openai", "input[4].output[1].image_url", RefusedBlock("m2", 1)),
    ("openai", "input[5].output[1]", RefusedBlock("m3", 1)),
    ("openai", "input[5]", RefusedBlock("m3")),
    ("openai", "input[1]", RefusedBlock()),
    ("openai-chat", "messages[1].content[1].image_url", RefusedBlock("m0", 2)),
    ("openai-chat", "messages.[1].content.[1].image_url", RefusedBlock("m0", 2)),
    ("openai-chat", "body -> messages -> 5 -> content -> 1 -> image_url", RefusedBlock("m3", 1)),
    ("openai-chat", "/messages/5/content/0", RefusedBlock("m2", 1)),
    ("openai-chat", "messages[1]", RefusedBlock("m0")),
    ("openai-chat", "messages[1].content[0]", RefusedBlock("m0")),
    ("openai-chat", "messages[0]", RefusedBlock()),
]


@pytest.mark.covers("R214")
@pytest.mark.parametrize(("wire", "place", "refused"), PLACES)
async def test_the_image_that_a_refusal_points_at_is_named(
    wire: str, place: str, refused: RefusedBlock, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": f"{place}: the image is larger than 8000 pixels"}}))
    request = model_request(*HISTORY, model=f"{wire}/m", system="Be brief.")
    error = failure(await ask(provider(wire), request))
    assert (error.kind, error.retryable, error.refused) == ("invalidRequest", False, refused)


WORDS: list[tuple[int, JsonValue]] = [
    (
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "Could not process image"}},
    ),
    (400, {"error": {"message": "image dimensions exceed 8000 pixels"}}),
    (400, {"error": {"message": "The image data you provided does not represent a valid image."}}),
    (400, {"error": {"message": "Invalid base64 data.", "code": "invalid_image_format"}}),
    (400, {"error": {"message": "You uploaded an unsupported image.", "code": "sanitizer_server_error"}}),
    (
        400,
        {
            "error": {
                "message": "Your input image may contain content that is not allowed by our safety system."
            }
        },
    ),
    (
        400,
        [{"error": {"code": 400, "message": "Unable to process input image.", "status": "INVALID_ARGUMENT"}}],
    ),
    (400, {"error": {"message": "Unsupported MIME type: image/tiff"}}),
    (
        400,
        {
            "object": "error",
            "message": "cannot identify image file <_io.BytesIO object at 0x7f>",
            "code": 400,
        },
    ),
    (400, {"error": "invalid image input"}),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "picture too large", "type": "value_error"}]}),
    (500, {"error": {"code": 500, "message": "Failed to load image or audio file", "type": "server_error"}}),
    (500, {"error": "illegal base64 data at input byte 4"}),
    (413, {"error": {"message": "Payload too large"}}),
    (413, "<html><title>413 Request Entity Too Large</title></html>"),
    (400, {"error": {"message": "图片尺寸超过限制"}}),
]


@pytest.mark.covers("R214")
@pytest.mark.parametrize("wire", HI)
@pytest.mark.parametrize(("status", "body"), WORDS)
async def test_a_refusal_of_some_image_is_known_by_its_words(
    status: int, body: JsonValue, wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(status, body))
    error = failure(await ask(provider(wire), model_request(*HISTORY, model=f"{wire}/m")))
    assert (error.retryable, error.refused) == (False, RefusedBlock())


OTHERS: list[tuple[int, str]] = [
    (400, "messages.1.content.0: Input should be a valid string"),
    (400, "Unknown parameter: 'imagine'."),
    (401, "Invalid API key for image models"),
    (429, "Rate limit reached for images per minute"),
    (404, "The model `m-image` does not exist"),
]


@pytest.mark.covers("R214")
@pytest.mark.parametrize(("status", "words"), OTHERS)
async def test_a_refusal_of_something_else_costs_no_image(
    status: int, words: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(status, {"error": {"message": words}}))
    error = failure(await ask(provider("openai-chat"), model_request(*HISTORY)))
    assert error.refused is None


@pytest.mark.covers("R214")
async def test_an_image_that_is_refused_within_the_answer_is_named_too(
    server: ModelServer, provider: MakeProvider
) -> None:
    words = "messages[0].content[1]: failed to decode image"
    server.play(Answer.of(chat_body({"error": {"message": words, "type": "invalid_request_error"}})))
    error = failure(await ask(provider("openai-chat"), model_request(*HISTORY)))
    assert (error.kind, error.refused) == ("invalidRequest", RefusedBlock("m0", 2))


@pytest.mark.covers("R214")
@pytest.mark.parametrize("wire", HI)
async def test_a_session_goes_on_without_the_image_that_was_refused(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    refusal = json_answer(400, {"error": {"message": "image dimensions exceed 8000 pixels"}})
    server.play(refusal, *[Answer.of(HI[wire])] * 2)
    agent = Agent(AgentParts(provider(wire), session_id="s1"), model=f"{wire}/m")
    async with asyncio.timeout(5):
        results = [await agent.prompt(content) for content in ((TextBlock("Look"), FIRST), "And now?")]
    assert [result.stop_reason for result in results] == ["completed", "completed"]
    sent = [(b"Zmly" in request.body, b"exceed 8000 pixels" in request.body) for request in server.requests]
    assert sent == [(True, False), (False, True), (False, True)]


TOO_MANY: list[tuple[str, str, list[str]]] = [
    ("openai-chat", "At most 1 image(s) may be provided in one request.", ["dGhp"]),
    ("openai-chat", "Too many images provided. This model supports up to 2 images", ["c2Vj", "dGhp"]),
    ("anthropic", "messages: Too much media: 0 document pages + 3 images > 2", ["c2Vj", "dGhp"]),
    ("openai", "Invalid 'input': too many images. Expected at most 2.", ["c2Vj", "dGhp"]),
]


@pytest.mark.covers("R214")
@pytest.mark.parametrize(("wire", "words", "kept"), TOO_MANY)
async def test_a_server_that_takes_only_so_many_images_is_sent_the_newest(
    wire: str, words: str, kept: list[str], server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), *[Answer.of(HI[wire])] * 2)
    asked = provider(wire)
    ends = [seen(await ask(asked, model_request(*HISTORY, model=f"{wire}/m"))).end for _ in range(2)]
    sent = [
        [data for data in ("Zmly", "c2Vj", "dGhp") if data.encode() in request.body]
        for request in server.requests
    ]
    assert (ends, sent) == (["stop", "stop"], [["Zmly", "c2Vj", "dGhp"], kept, kept])


@pytest.mark.parametrize(
    "words",
    [
        "This model does not support image inputs.",
        "m is not a multimodal model",
        "At most 0 image(s) may be provided in one request.",
        "No endpoints found that support image input",
        "image input is not supported - hint: you may need to provide the mmproj",
    ],
)
async def test_a_model_without_eyes_is_sent_notes(
    words: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), Answer.of(HI["openai-chat"]))
    end = seen(await ask(provider("openai-chat"), model_request(*HISTORY))).end
    assert (end, b"image_url" in server.requests[1].body) == ("stop", False)
