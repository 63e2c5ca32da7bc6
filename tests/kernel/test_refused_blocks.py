"""Blocks that a provider refuses become notes, and the conversation goes on (R214)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pilothouse_agent.kernel.events import MessageEnd, Notice
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import (
    ErrorInfo,
    ImageBlock,
    Message,
    ModelMessage,
    RefusedBlock,
    TextBlock,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import Failed, ModelRequest
from pilothouse_agent.kernel.tooling import ToolResult
from support.kernel import FakeClock, FakeTool, Step, asks, bench, call, says, shown

TOO_LARGE = "image dimensions exceed 8000 pixels"
NOTE = f"[Left out, because the provider of the model refused it: {TOO_LARGE}]"
NOW = FakeClock().now()


def picture(name: str) -> ImageBlock:
    return ImageBlock("image/png", name)


def refuses(message_id: str | None = None, block: int | None = None) -> list[Step]:
    error = ErrorInfo("invalidRequest", TOO_LARGE, status=400, refused=RefusedBlock(message_id, block))
    return [Failed(error)]


def looking(*names: str) -> FakeTool:
    """A tool that answers with these pictures, and says so."""

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return ToolResult((TextBlock("seen: "), *(picture(name) for name in names)))

    return FakeTool("look", body)


def pictures(messages: Sequence[Message] | Sequence[ModelMessage]) -> list[str]:
    return [part.data for message in messages for part in message.content if isinstance(part, ImageBlock)]


def sent(requests: Sequence[ModelRequest]) -> list[list[str]]:
    """The pictures of each request."""
    return [pictures(request.messages) for request in requests]


def user(message_id: str, *content: UserBlock) -> UserMessage:
    return UserMessage(message_id, content, NOW)


@pytest.mark.covers("R214", "E1")
async def test_a_refused_image_becomes_a_note_and_the_same_request_is_made_once_more() -> None:
    b = bench(asks(call("c1", "look")), refuses("msg3", 1), says("ok"), tools=[looking("wide")])

    result = await b.run("Hi")

    assert (result.stop_reason, result.text) == ("completed", "ok")
    assert b.model.shown[1:] == [
        ["U:Hi", "A: [c1]", "R c1:seen: "],
        ["U:Hi", "A: [c1]", f"R c1:seen: {NOTE}"],
    ]
    assert b.lines[b.lines.index("TS2") :][:6] == [
        "TS2",
        "MS(C)",
        "ME(C,leftOut)",
        "NO blockRefused",
        "MS(A)",
        "MU:ok",
    ]


@pytest.mark.covers("R214")
async def test_a_conversation_put_together_from_what_was_heard_leaves_the_image_out_too() -> None:
    first = bench(asks(call("c1", "look")), refuses("msg3", 1), says("ok"), tools=[looking("wide")])
    await first.run("Hi")
    heard = [event.message for event in first.events.of(MessageEnd)]

    later = bench(says("still here"), messages=heard)
    await later.run("And now?")
    await first.run("And now?")

    said = ["U:Hi", "A: [c1]", f"R c1:seen: {NOTE}", "A:ok", "U:And now?"]
    assert later.model.shown == [said]
    assert first.model.shown[-1] == said


@pytest.mark.covers("R214")
async def test_the_user_is_told_what_is_missing_from_now_on() -> None:
    b = bench(refuses(), says("ok"))

    await b.run((TextBlock("What is this?"), picture("wide")))

    text = f"The provider of the model refused a block of the conversation, left out from now on: {TOO_LARGE}"
    assert b.events.of(Notice) == [Notice("warning", text, "blockRefused")]


@pytest.mark.covers("R214")
async def test_of_images_nobody_named_those_without_an_answer_go_first() -> None:
    b = bench(says("nice"), refuses(), says("ok"))

    await b.run((picture("old"),))
    await b.run((picture("new 1"), TextBlock("and"), picture("new 2")))

    assert sent(b.model.requests) == [["old"], ["old", "new 1", "new 2"], ["old"]]


@pytest.mark.covers("R214")
async def test_when_the_new_ones_were_not_it_all_images_go() -> None:
    b = bench(says("nice"), refuses(), refuses(), says("ok"))

    await b.run((picture("old"),))
    result = await b.run((picture("new"),))

    assert sent(b.model.requests)[1:] == [["old", "new"], ["old"], []]
    assert result.text == "ok"


@pytest.mark.covers("R214")
async def test_after_three_refusals_in_a_row_all_images_go_at_once() -> None:
    history = [user(f"u{n}", picture(f"p{n}")) for n in range(9)]
    b = bench(
        refuses("u0", 0), refuses("u1"), refuses("u2", 0), refuses("u3", 0), says("ok"), messages=history
    )

    assert (await b.run("Hi")).text == "ok"

    assert [len(names) for names in sent(b.model.requests)] == [9, 8, 7, 6, 0]


@pytest.mark.covers("R214")
async def test_a_refused_text_is_replaced_as_well() -> None:
    b = bench(refuses("u1", 1), says("ok"), messages=[user("u1", TextBlock("a"), TextBlock("endless"))])

    await b.run("Hi")

    assert b.model.shown == [["U:aendless", "U:Hi"], [f"U:a{NOTE}", "U:Hi"]]


@pytest.mark.covers("R214")
@pytest.mark.parametrize("refused", [refuses(), refuses("nobody", 0), refuses("u1", 7), refuses("u1")])
async def test_a_refusal_of_what_is_not_there_ends_the_run_with_its_words(refused: list[Step]) -> None:
    b = bench(refused, says("never"), messages=[user("u1", TextBlock("only text"))])

    result = await b.run("Hi")

    assert result.error is not None
    assert (result.stop_reason, result.error.message, len(b.model.requests)) == ("error", TOO_LARGE, 1)
    assert shown(b.agent.state.messages) == ["U:only text", "U:Hi", "A: (error)"]


@pytest.mark.covers("R214")
async def test_a_provider_that_refuses_whatever_is_sent_is_not_asked_for_ever() -> None:
    history = [user(f"u{n}", picture(f"p{n}")) for n in range(9)]
    b = bench(*[refuses("u0", 0)] * 20, messages=history)

    result = await b.run("Hi")

    assert (result.stop_reason, len(b.model.requests)) == ("error", 5)


@pytest.mark.covers("R214", "A5")
async def test_an_abort_while_the_note_is_told_sends_nothing_more() -> None:
    b = bench(refuses(), says("never"))

    def stop(event: object) -> None:
        if isinstance(event, Notice):
            b.agent.abort()

    b.agent.subscribe(stop)
    result = await b.run((TextBlock("x"), picture("wide")))

    assert (result.stop_reason, len(b.model.requests)) == ("aborted", 1)
    assert b.shown == [f"U:x{NOTE}", f"C leftOut:{NOTE}"]
