"""Whatever is wrong with a call, it gets one error result and harms no other (T5)."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import cast

import pytest

from pilothouse_agent.kernel.events import Location, ToolExecutionEnd, ToolExecutionStart
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import TextBlock, ToolResultMessage, UserBlock
from pilothouse_agent.kernel.ports import Tool, ToolContext
from pilothouse_agent.kernel.request import Delta, ToolSpec
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.tooling import (
    Effect,
    Footprint,
    InvalidArguments,
    ToolError,
    ToolResult,
    Violation,
)
from pilothouse_agent.tools.arguments import Arguments, validate
from support.kernel import FakeTool, asks, bench, call, echo_tool, says


class Copy(Arguments):
    source: str
    times: int = 1


def copy_tool() -> FakeTool:
    """Its arguments are checked as those of the built-in tools are."""

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return ToolResult.text("copied")

    return FakeTool("copy", body, check=lambda arguments: validate(Copy, arguments).model_dump())


def raising(error: BaseException) -> FakeTool:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        raise error

    return FakeTool("bad", body)


def returning(value: object) -> FakeTool:
    async def body(arguments: JsonObject, context: ToolContext) -> object:
        return value

    return FakeTool("bad", body)


def broken_check(error: Exception) -> FakeTool:
    def check(arguments: JsonObject) -> JsonObject:
        raise error

    return FakeTool("bad", returning(None).body, check=check)


async def result_beside_a_good_call(bad: Delta, *tools: Tool) -> ToolResultMessage:
    """Runs the bad call between two good ones; the run must go on as if nothing had been."""
    good = [call("c1", "echo", {"v": "first"}), call("c3", "echo", {"v": "third"})]
    b = bench(asks(good[0], bad, good[1]), says("done"), tools=[echo_tool(), *tools])

    result = await b.run("Hi")

    end = next(event for event in b.events.of(ToolExecutionEnd) if event.tool_call_id == "c2")
    assert (end.is_error, end.outcome) == (True, "error")
    assert (result.stop_reason, b.shown[2], b.shown[4:]) == (
        "completed",
        "R c1:first",
        ["R c3:third", "A:done"],
    )
    message = b.agent.state.messages[3]
    assert isinstance(message, ToolResultMessage)
    assert (message.tool_call_id, message.is_error) == ("c2", True)
    return message


def text(message: ToolResultMessage) -> str:
    assert len(message.content) == 1
    block = message.content[0]
    assert isinstance(block, TextBlock)
    return block.text


@pytest.mark.covers("T5", "K20", "K27", "W43")
async def test_an_unknown_tool_is_named_with_those_there_are() -> None:
    message = await result_beside_a_good_call(call("c2", "raed_file"), copy_tool())

    assert text(message) == "There is no tool named 'raed_file'. The tools are: copy, echo."


@pytest.mark.covers("T5", "K28")
async def test_every_violation_is_listed_with_its_path_and_the_body_does_not_run() -> None:
    copy = copy_tool()

    message = await result_beside_a_good_call(call("c2", "copy", {"times": "often"}), copy)

    heading, *violations = text(message).split("\n")
    assert heading == "The arguments do not fit copy, which did not run:"
    assert [line.split(":")[0] for line in violations] == ["- source", "- times"]
    assert copy.ran == []


@pytest.mark.covers("T5", "K29")
@pytest.mark.parametrize("arguments", ["null", "", '"text"', "[1]", "3", "true"])
async def test_arguments_that_are_no_object_are_an_error_where_some_are_needed(arguments: str) -> None:
    copy = copy_tool()

    await result_beside_a_good_call(call("c2", "copy", arguments), copy)

    assert copy.ran == []


@pytest.mark.covers("T5", "R167", "K43")
@pytest.mark.parametrize("arguments", ['{"source": "a"', '{"source": "a"} and more', '{"source": NaN}'])
async def test_malformed_json_is_shown_and_never_run_with_the_part_that_parses(arguments: str) -> None:
    copy = copy_tool()

    message = await result_beside_a_good_call(call("c2", "copy", arguments), copy)

    assert text(message) == f"The arguments are not a JSON object, so copy did not run: {arguments}"
    assert copy.ran == []


@pytest.mark.covers("T5", "R167")
async def test_unparsed_arguments_are_told_as_text_in_the_start_event() -> None:
    b = bench(asks(call("c1", "echo", "{oops")), says("done"), tools=[echo_tool()])

    await b.run("Hi")

    (start,) = b.events.of(ToolExecutionStart)
    assert (start.arguments, start.arguments_text) == (None, "{oops")


@pytest.mark.covers("T5", "K30")
@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        ({"source": 42, "times": "7"}, {"source": "42", "times": 7}),
        ('"{\\"source\\": \\"a\\", \\"times\\": 7.0}"', {"source": "a", "times": 7}),
    ],
)
async def test_harmless_shapes_are_coerced(arguments: JsonValue, ran: JsonObject) -> None:
    copy = copy_tool()
    b = bench(asks(call("c1", "copy", arguments)), says("done"), tools=[copy])

    await b.run("Hi")

    assert (copy.ran, b.shown[2]) == ([ran], "R c1:copied")


@pytest.mark.covers("T5", "K31")
@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (
            raising(ToolError("No such file: a. List the folder first.")),
            "No such file: a. List the folder first.",
        ),
        (raising(RuntimeError("no luck")), "The tool failed: RuntimeError: no luck"),
        (raising(SystemExit(3)), "The tool failed: SystemExit: 3"),
        (
            raising(asyncio.CancelledError()),
            "The tool failed: something it waited for was cancelled.",
        ),
        (raising(BaseExceptionGroup("all", [GeneratorExit()])), None),
    ],
)
async def test_a_tool_that_raises_gets_an_error_result(tool: FakeTool, said: str | None) -> None:
    message = await result_beside_a_good_call(call("c2", "bad"), tool)

    assert said is None or text(message) == said


@pytest.mark.covers("T5", "K31", "K32")
@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        {"content": []},
        ToolResult,
        ToolResult(cast("tuple[UserBlock, ...]", [TextBlock("a list")])),
        ToolResult(cast("tuple[UserBlock, ...]", ("text",))),
        ToolResult((TextBlock(cast("str", b"bytes")),)),
        ToolResult((), details=cast("JsonObject", {"made": object()})),
        ToolResult((), details=cast("JsonObject", {1: "one"})),
        ToolResult((), details=cast("JsonObject", [1])),
        ToolResult((), locations=cast("tuple[Location, ...]", ("/a",))),
        ToolResult((), effects=cast("tuple[Effect, ...]", (None,))),
    ],
)
async def test_a_tool_that_returns_no_result_gets_an_error_result(value: object) -> None:
    message = await result_beside_a_good_call(call("c2", "bad"), returning(value))

    assert text(message) == "The tool gave no result. This is a fault of the tool, not of the call."


@pytest.mark.covers("T5")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InvalidArguments((Violation("", "nothing fits"),)), "- arguments: nothing fits"),
        (ToolError("The path is outside of the workspace."), "The path is outside of the workspace."),
        (KeyError("path"), "The tool bad failed at its arguments: KeyError: 'path'"),
    ],
)
async def test_a_tool_that_raises_at_its_arguments_gets_an_error_result(error: Exception, said: str) -> None:
    message = await result_beside_a_good_call(call("c2", "bad"), broken_check(error))

    assert text(message).split("\n")[-1] == said


@dataclass(frozen=True)
class Faulty:
    """An invocation one of whose facts cannot be had."""

    fact: str

    def __getattr__(self, name: str) -> object:
        if name == self.fact:
            raise OSError(f"no {name}")
        facts: dict[str, object] = {"title": "T", "footprint": Footprint(), "locations": (), "command": None}
        return facts[name]


@dataclass(frozen=True)
class FaultyTool:
    fact: str
    kind: str = "other"
    spec: ToolSpec = ToolSpec("bad", "", {})  # noqa: RUF009

    def bind(self, arguments: JsonObject) -> Faulty:
        return Faulty(self.fact)


@pytest.mark.covers("T5", "A2")
@pytest.mark.parametrize("fact", ["title", "footprint", "locations", "command"])
async def test_a_tool_that_cannot_say_what_a_call_is_gets_an_error_result(fact: str) -> None:
    message = await result_beside_a_good_call(call("c2", "bad"), cast("Tool", FaultyTool(fact)))

    assert text(message) == f"The tool bad failed at its arguments: OSError: no {fact}"


@pytest.mark.covers("T5", "K33")
async def test_a_result_without_content_is_a_result() -> None:
    b = bench(
        asks(call("c1", "empty")), says("done"), tools=[FakeTool("empty", returning(ToolResult(())).body)]
    )

    await b.run("Hi")

    message = b.agent.state.messages[2]
    assert isinstance(message, ToolResultMessage)
    assert (message.content, message.is_error) == ((), False)


@pytest.mark.covers("T5", "R218")
async def test_a_tool_that_hangs_at_its_arguments_gets_an_error_result() -> None:
    release = threading.Event()

    def check(arguments: JsonObject) -> JsonObject:
        release.wait(5)
        return arguments

    tool = FakeTool("slow", echo_tool().body, check=check)
    settings = RunSettings(hook_limit=0.05)
    b = bench(asks(call("c1", "slow")), says("done"), tools=[tool], settings=settings)

    result = await b.run("Hi")
    release.set()

    said = "The tool slow failed at its arguments: it took longer than 0.05 s. Try again."
    assert (result.text, b.shown[2], tool.ran) == ("done", f"R c1:{said}!", [])
