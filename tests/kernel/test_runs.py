"""Whole runs as lists of events: what is published, and in which order (E1 to E3)."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.agent import Content
from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    MessageUpdate,
    Notice,
    ToolExecutionStart,
    TurnEnd,
)
from pilothouse_agent.kernel.messages import AssistantMessage, ImageBlock, ThinkingBlock, Usage
from pilothouse_agent.kernel.request import Delta, Finished, ThinkingData
from support.kernel import Turn, asks, bench, block, call, echo_tool, fails, says, soon, thinks


@pytest.mark.covers("E1", "E2", "E3", "A2", "K1")
async def test_a_plain_answer_is_told_in_the_plain_order() -> None:
    b = bench(says("Hel", "l", "o"))

    result = await b.run("Hi")

    assert b.lines == [
        "AS",
        "PH idle→turn",
        "TS1",
        "MS(U)",
        "ME(U,Hi)",
        "MS(A)",
        "MU:Hel",
        "MU:l",
        "MU:o",
        "ME(A,stop)",
        "TE1",
        "PH turn→idle",
        "AE completed",
    ]
    assert b.shown == ["U:Hi", "A:Hello"]
    assert (result.stop_reason, result.text, result.error) == ("completed", "Hello", None)


@pytest.mark.covers("E3", "L1", "K2", "K3")
async def test_a_tool_runs_after_the_message_that_asked_for_it_and_its_result_is_sent() -> None:
    b = bench(asks(call("c1", "echo"), text="Wait"), says("done"), tools=[echo_tool()])

    await b.run("Hi")

    assert b.lines == [
        "AS",
        "PH idle→turn",
        "TS1",
        "MS(U)",
        "ME(U,Hi)",
        "MS(A)",
        "MU:Wait",
        "MU c1:{}",
        "ME(A,toolUse)",
        "XS c1",
        "XE c1 ok",
        "MS(R)",
        "ME(R,c1 ok)",
        "TE1",
        "TS2",
        "MS(A)",
        "MU:done",
        "ME(A,stop)",
        "TE2",
        "PH turn→idle",
        "AE completed",
    ]
    assert b.model.shown == [["U:Hi"], ["U:Hi", "A:Wait [c1]", "R c1:ok"]]


@pytest.mark.covers("R253")
async def test_what_a_provider_has_to_tell_the_user_is_a_notice_and_no_part_of_the_answer() -> None:
    b = bench([Notice("warning", "NO_PROXY holds nonsense.", "proxy"), *says("Hello")])

    result = await b.run("Hi")

    assert b.lines[5:8] == ["NO proxy", "MS(A)", "MU:Hello"]
    assert (b.shown, result.text) == (["U:Hi", "A:Hello"], "Hello")


@pytest.mark.covers("E1", "K4", "K8")
async def test_an_answer_without_a_delta_still_starts_and_ends_its_message() -> None:
    b = bench(says(stop="length"))

    result = await b.run("Hi")

    assert b.lines[5:] == ["MS(A)", "ME(A,length)", "TE1", "PH turn→idle", "AE length"]
    assert b.shown == ["U:Hi", "A:"]
    assert (result.stop_reason, result.text) == ("length", "")


@pytest.mark.covers("K5")
async def test_a_delta_that_brings_nothing_is_not_an_update() -> None:
    b = bench([Delta("text", 0, ""), Delta("thinking", 1, ""), Delta("text", 0, "x"), Finished("stop")])

    await b.run("Hi")

    assert b.lines[5:8] == ["MS(A)", "MU:x", "ME(A,stop)"]


@pytest.mark.covers("E1")
async def test_updates_carry_only_what_is_new_and_count_the_blocks_from_zero() -> None:
    b = bench(
        [
            *thinks("hm", "m", index=7),
            Delta("text", 9, "a"),
            Delta("toolCall", 12, '{"v":', "c1", "echo"),
            Delta("text", 9, "b"),
            Delta("toolCall", 12, "1}"),
            Finished("toolUse"),
        ],
        says("done"),
        tools=[echo_tool()],
    )

    await b.run("Hi")

    updates = [update[1:] for update in b.events.of(MessageUpdate)][:6]
    assert updates == [
        ("thinking", 0, "hm", None, None),
        ("thinking", 0, "m", None, None),
        ("text", 1, "a", None, None),
        ("toolCall", 2, '{"v":', "c1", "echo"),
        ("text", 1, "b", None, None),
        ("toolCall", 2, "1}", "c1", "echo"),
    ]
    assert b.shown[1:3] == ["A:ab [c1]", "R c1:1"]


@pytest.mark.covers("E2", "E3", "K15", "T3")
async def test_everything_of_the_tools_is_out_before_the_turn_ends() -> None:
    b = bench(asks(call("c1", "echo"), call("c2", "echo")), says("done"), tools=[echo_tool()])

    await b.run("Hi")

    start, end = b.lines.index("ME(A,toolUse)"), b.lines.index("TE1")
    assert b.lines[start + 1 : start + 3] == ["XS c1", "XS c2"]
    assert sorted(b.lines[start + 3 : start + 5]) == ["XE c1 ok", "XE c2 ok"]
    assert b.lines[start + 5 : end] == ["MS(R)", "ME(R,c1 ok)", "MS(R)", "ME(R,c2 ok)"]
    assert b.events.of(TurnEnd)[0].tool_call_ids == ("c1", "c2")


@pytest.mark.covers("K9")
async def test_two_messages_of_one_prompt_go_out_in_one_request() -> None:
    b = bench(says("ok"))

    await b.run("one", "two")

    assert b.lines[2:7] == ["TS1", "MS(U)", "ME(U,one)", "MS(U)", "ME(U,two)"]
    assert b.model.shown == [["U:one", "U:two"]]


@pytest.mark.covers("K10")
@pytest.mark.parametrize(
    "messages",
    [(), ("",), (" \n",), ((),), ("text", ()), (block(""),)],
    ids=["no message", "empty", "blank", "no block", "one of two", "empty block"],
)
async def test_an_empty_prompt_is_refused_without_an_event(messages: tuple[Content, ...]) -> None:
    b = bench()

    with pytest.raises(ValueError, match="prompt is empty"):
        b.agent.prompt(*messages)

    assert (b.lines, b.agent.busy, b.agent.state.phase) == ([], False, "idle")


@pytest.mark.covers("K10")
async def test_an_image_alone_is_a_prompt() -> None:
    b = bench(says("a cat"))
    image = ImageBlock("image/png", "aGk=")

    await b.run((image,))

    assert b.model.requests[0].messages[0].content == (image,)


@pytest.mark.covers("K11", "B1")
async def test_two_agents_share_nothing() -> None:
    one, two = bench(says("1")), bench(says("2"))
    one.agent.steer("only for one")

    await soon(one.agent.prompt("a"))
    await soon(two.agent.prompt("b"))

    assert (one.shown, two.shown) == (["U:a", "U:only for one", "A:1"], ["U:b", "A:2"])
    assert two.agent.state.steering == ()


@pytest.mark.covers("A2", "E2")
async def test_the_result_and_agent_end_say_the_same_of_the_run() -> None:
    b = bench(
        asks(call("c1", "echo"), usage=Usage(10, 1)),
        says("done", usage=Usage(20, 2)),
        tools=[echo_tool()],
    )

    run = b.agent.prompt("Hi", prompt_id="p1")
    result = await soon(run)

    end = b.events.events[-1]
    assert isinstance(end, AgentEnd)
    assert (result.run_id, result.stop_reason, result.text) == (run.run_id, "completed", "done")
    assert (end.run_id, end.stop_reason, end.text) == (run.run_id, "completed", "done")
    assert result.usage == end.usage == Usage(30, 3)
    assert result.message == b.agent.state.messages[-1]
    first = b.events.events[0]
    assert first == AgentStart(run.run_id, "m", (b.agent.state.messages[0].id,), "p1")


@pytest.mark.covers("E1", "A2")
async def test_a_message_names_the_model_that_answered_and_what_it_used() -> None:
    b = bench([Delta("text", 0, "x"), Finished("stop", Usage(10, 1), model="m-2026")], says("y"))

    await b.run("Hi")
    await b.run("again")

    answers = [m for m in b.agent.state.messages if isinstance(m, AssistantMessage)]
    assert [(m.model, m.usage) for m in answers] == [("m-2026", Usage(10, 1)), ("m", None)]


@pytest.mark.covers("A2")
async def test_the_usage_of_the_conversation_is_the_sum_of_its_runs() -> None:
    b = bench(says("x", usage=Usage(10, 1)), says("y", usage=Usage(20, 2)), says("z"))
    assert b.agent.usage is None

    for prompt in ("1", "2", "3"):
        await b.run(prompt)

    assert b.agent.usage == Usage(30, 3)


@pytest.mark.covers("E2")
async def test_nothing_is_published_after_agent_end() -> None:
    b = bench(asks(call("c1", "echo")), says("done"), tools=[echo_tool()])

    await b.run("Hi")

    assert [line for line in b.lines if line.startswith("AE")] == ["AE completed"]
    assert b.lines[-2:] == ["PH turn→idle", "AE completed"]


@pytest.mark.covers("E3")
async def test_calls_refused_without_prepare_start_and_end_too() -> None:
    b = bench(asks(call("c1", "echo"), call("c2", "nope"), stop="length"), says("ok"), tools=[echo_tool()])

    await b.run("Hi")

    assert b.lines[8:18] == [
        "ME(A,length)",
        "XS c1",
        "XE c1 error",
        "XS c2",
        "XE c2 error",
        "MS(R)",
        "ME(R,c1 error)",
        "MS(R)",
        "ME(R,c2 error)",
        "TE1",
    ]


@pytest.mark.covers("T6", "E1")
async def test_a_call_id_is_final_from_its_first_delta_on() -> None:
    b = bench(
        asks(call("c1", "echo", {"v": "a"}), call("c1", "echo", {"v": "b"}), call("", "echo", {"v": "c"})),
        asks(call("c1", "echo", {"v": "d"})),
        says("done"),
        tools=[echo_tool()],
    )

    await b.run("Hi")

    streamed = [update.tool_call_id for update in b.events.of(MessageUpdate) if update.kind == "toolCall"]
    assert streamed == ["c1", "call1", "call2", "call3"]
    assert [start.tool_call_id for start in b.events.of(ToolExecutionStart)] == streamed
    assert b.shown[2:5] == ["R c1:a", "R call1:b", "R call2:c"]
    assert b.shown[6] == "R call3:d"


async def test_what_a_provider_wants_back_with_its_thinking_is_kept() -> None:
    b = bench(
        [
            *thinks("hm"),
            ThinkingData(0, signature="sig", origin="w"),
            Delta("text", 1, "x"),
            Finished("stop"),
        ],
    )

    await b.run("Hi")

    assert b.agent.state.messages[1].content[0] == ThinkingBlock("hm", "sig", None, "w")


@pytest.mark.covers("A3", "E1", "E2", "K73", "K75")
@pytest.mark.parametrize(
    "turn", [[fails("auth", "no key")], [ValueError("no key")]], ids=["reported", "raised"]
)
async def test_a_failure_before_the_first_word_has_the_shape_of_any_ending(turn: Turn) -> None:
    b = bench(turn, says("fine"))

    result = await b.run("Hi")

    assert b.lines[5:] == ["MS(A)", "ME(A,error)", "TE1", "PH turn→idle", "AE error"]
    assert result.stop_reason == "error"
    assert result.error is not None
    assert "no key" in result.error.message
    assert b.agent.state.error_message == result.error.message
    assert (await b.run("again")).stop_reason == "completed"
    assert b.agent.state.error_message is None
    assert b.model.shown[1] == ["U:Hi", "U:again"]
