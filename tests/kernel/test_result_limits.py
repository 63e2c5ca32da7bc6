"""Every text that becomes a result has one limit, wherever it comes from (T10, R247)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pilothouse_agent.kernel.hooks import BlockCall, FinishedCall, Hooks, ResultPatch
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ImageBlock, TextBlock, ToolCall, ToolResultMessage, UserBlock
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.questions import Answer
from pilothouse_agent.kernel.request import Delta
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolError, ToolResult, Violation
from support.kernel import Bench, FakeTool, asks, bench, block, call, echo_tool, says
from support.permissions import FakePermissions, FakeUser

HUGE = "ä" * 1_000_000
MANY = "line\n" * 100_000
ROOM = 51_200 + 6_000


def failing(error: Exception) -> FakeTool:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        raise error

    return FakeTool("tool", body)


def refusing(error: Exception) -> FakeTool:
    def check(arguments: JsonObject) -> JsonObject:
        raise error

    return FakeTool("tool", echo_tool().body, check=check)


def giving(*content: UserBlock) -> FakeTool:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return ToolResult(content)

    return FakeTool("tool", body)


def one(tool: FakeTool | None = None, *, asked: Delta | None = None, hooks: Hooks | None = None) -> Bench:
    turns = [asks(asked or call("c1", "tool")), says("done")]
    return bench(*turns, tools=[tool or echo_tool("tool")], hooks=hooks)


async def blocks(call: ToolCall, signal: object) -> BlockCall:
    return BlockCall(HUGE)


async def breaks(call: ToolCall, signal: object) -> None:
    raise ValueError(HUGE)


async def patches(finished: FinishedCall) -> ResultPatch:
    return ResultPatch(content=block(HUGE))


def denying() -> Bench:
    user = FakeUser(Answer("no", HUGE))
    turns = [asks(call("c1", "tool")), says("done")]
    return bench(*turns, tools=[echo_tool("tool")], permissions=FakePermissions(), approver=user)


TEXTS = {
    "output": lambda: one(giving(TextBlock(HUGE))),
    "many lines": lambda: one(giving(TextBlock(MANY))),
    "many blocks": lambda: one(giving(*[TextBlock("x" * 1000)] * 1000)),
    "a tool's error": lambda: one(failing(ToolError(HUGE))),
    "an exception": lambda: one(failing(ValueError(HUGE))),
    "a bad argument": lambda: one(refusing(ToolError(HUGE))),
    "a violation": lambda: one(refusing(InvalidArguments((Violation("p" * 200_000, HUGE),)))),
    "violations": lambda: one(refusing(InvalidArguments((Violation("p", "x" * 9_000),) * 5000))),
    "a note": lambda: one(refusing(InvalidArguments((Violation("p", "x"),), HUGE))),
    "the name of no tool": lambda: one(asked=Delta("toolCall", 0, "{}", "c1", HUGE)),
    "broken arguments": lambda: one(asked=call("c1", "tool", f'{{"a": {HUGE}')),
    "a hook's reason": lambda: one(hooks=Hooks(before_tool_call=(blocks,))),
    "a hook's error": lambda: one(hooks=Hooks(before_tool_call=(breaks,))),
    "a hook's content": lambda: one(hooks=Hooks(after_tool_result=(patches,))),
    "a person's reason": denying,
}


def result_of(b: Bench) -> ToolResultMessage:
    message = b.agent.state.messages[2]
    assert isinstance(message, ToolResultMessage)
    return message


@pytest.mark.covers("T10", "R247")
@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
async def test_no_text_of_a_result_is_larger_than_the_limit(make: Callable[[], Bench]) -> None:
    b = make()

    await b.run("Hi")

    texts = [part.text for part in result_of(b).content if isinstance(part, TextBlock)]
    assert 0 < sum(len(text.encode()) for text in texts) <= ROOM
    assert sum(text.count("\n") for text in texts) <= 2_060


@pytest.mark.covers("T10", "R247")
async def test_what_was_cut_says_so_and_how_to_get_the_rest_and_ends_at_a_whole_character() -> None:
    b = one(giving(TextBlock(HUGE)))

    await b.run("Hi")

    kept = TextBlock("ä" * 25_600)
    left = 2_000_000 - 51_200
    told = f"\n[Cut at 2000 lines or 51200 bytes; {left} bytes are left out. Ask for less at a time.]"
    assert result_of(b).content == (kept, TextBlock(told))


@pytest.mark.covers("T10")
async def test_images_between_texts_stay_and_the_first_texts_win() -> None:
    image = ImageBlock("image/png", "x" * 100_000)
    b = one(giving(TextBlock("first\n"), image, TextBlock("y" * 60_000), TextBlock("last")))

    await b.run("Hi")

    content = result_of(b).content
    assert content[:2] == (TextBlock("first\n"), image)
    assert content[2] == TextBlock("y" * (51_200 - 6))
    assert "last" not in "".join(part.text for part in content if isinstance(part, TextBlock))


@pytest.mark.covers("T10")
async def test_the_limits_are_settings() -> None:
    settings = RunSettings(output_lines=3, output_bytes=1_000_000)
    b = bench(asks(call("c1", "tool")), says("done"), tools=[giving(TextBlock(MANY))], settings=settings)

    await b.run("Hi")

    assert result_of(b).content[0] == TextBlock("line\n" * 3)


@pytest.mark.covers("T10")
async def test_a_result_that_says_itself_how_it_was_cut_is_left_as_it_is() -> None:
    text = f"{'x' * 51_200}\n[Cut; read on from line 2.]"
    b = one(giving(TextBlock(text)))

    await b.run("Hi")

    assert result_of(b).content == (TextBlock(text),)


@pytest.mark.covers("R247", "T5")
async def test_of_many_violations_the_first_ten_are_listed_and_how_many_more() -> None:
    b = one(refusing(InvalidArguments(tuple(Violation(f"edits.{n}", "missing") for n in range(4321)))))

    await b.run("Hi")

    listed = "\n".join(f"- edits.{n}: missing" for n in range(10))
    assert result_of(b).content == block(
        f"The arguments do not fit tool, which did not run:\n{listed}\n- and 4311 more"
    )


@pytest.mark.covers("T10")
async def test_halves_of_characters_cannot_reach_a_request() -> None:
    b = one(giving(TextBlock("a\ud800b")))

    await b.run("Hi")

    assert result_of(b).content == block("a\ufffdb")
