"""A tool turn from answer to next request: what a format wants back of its own answer it gets unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_agent.kernel.builder import MessageBuilder
from pilothouse_agent.kernel.messages import AssistantMessage
from pilothouse_agent.kernel.request import Delta, Finished, StreamEvent, ThinkingData, ToolExtra, ToolSpec
from pilothouse_agent.models.history.legal import legal_name
from support.asking import TIME, MakeProvider, ask, model_request, tool_result, user
from support.model_server import Answer, ModelServer, calls_chunk, chat_body, finish_chunk, text_chunk
from support.typed_events import (
    answer,
    block,
    call_item,
    delta,
    item_added,
    item_done,
    message,
    text_delta,
    thinking_item,
)

ARGUMENTS = '{"path":"a"}'
READ = ToolSpec("files.read", "", {})
THOUGHT = thinking_item("Hm.", sealed="U0VBTA==")
DETAILS = [{"type": "reasoning.text", "text": "Hm.", "index": 0, "signature": "s"}]


def _answers(name: str) -> dict[str, bytes]:
    """One turn with thinking and a call of the tool, in each format, from a model of a dated name."""
    function = {"name": name, "arguments": ARGUMENTS}
    chunks = [
        text_chunk("", reasoning_details=DETAILS),
        calls_chunk({"index": 0, "id": "c1", "function": function, "extra_content": {"g": 1}}),
        finish_chunk("tool_calls"),
    ]
    thinking = block(
        {"type": "thinking", "thinking": ""}, delta("thinking", "Hm."), delta("signature", "c2ln")
    )
    use: Any = {"type": "tool_use", "id": "c1", "name": name, "input": {}}
    bodies = {
        "openai-chat": chat_body(*chunks),
        "openai": answer(
            item_added(thinking_item()),
            text_delta("Hm.", kind="reasoning_summary_text"),
            item_done(THOUGHT),
            item_done(call_item(ARGUMENTS, name=name), index=1),
        ),
        "anthropic": message(
            *thinking, *block(use, delta("input_json", ARGUMENTS), index=1), stop="tool_use"
        ),
    }
    return {wire: body.replace(b'"model": "m"', b'"model": "m-20260101"') for wire, body in bodies.items()}


def _wanted(wire: str, name: str) -> list[Any]:
    """What the next request says of the turn."""
    match wire:
        case "openai-chat":
            function = {"name": name, "arguments": ARGUMENTS}
            call = {"id": "c1", "type": "function", "function": function, "extra_content": {"g": 1}}
            said = {"role": "assistant", "content": None, "reasoning_details": DETAILS, "tool_calls": [call]}
            return [said, {"role": "tool", "tool_call_id": "c1", "content": "A"}]
        case "openai":
            call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": name}
            result = {"type": "function_call_output", "call_id": "c1", "output": "A"}
            return [THOUGHT, {**call, "arguments": ARGUMENTS}, result]
        case _:
            thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
            use = {"type": "tool_use", "id": "c1", "name": name, "input": {"path": "a"}}
            text = {"type": "text", "text": "A"}
            mark = {"cache_control": {"type": "ephemeral"}}
            result = {"type": "tool_result", "tool_use_id": "c1", "content": [text], **mark}
            return [
                {"role": "assistant", "content": [thought, use]},
                {"role": "user", "content": [result]},
            ]


def _message(events: list[StreamEvent]) -> AssistantMessage:
    """As the kernel stores it."""
    builder = MessageBuilder("a", taken=(), new_id=lambda: "made")
    for event in events[:-1]:
        if isinstance(event, Delta):
            builder.add(event)
        elif isinstance(event, ThinkingData | ToolExtra):
            builder.add_data(event)
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.model == "m-20260101"
    return AssistantMessage("a", builder.content("finished"), TIME, end.model, "toolUse")


@pytest.mark.covers("W29", "W62", "W120", "W125")
@pytest.mark.parametrize("wire", ["openai-chat", "openai", "anthropic"])
async def test_a_turn_goes_back_as_it_came_to_the_model_that_was_asked(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    asked, model, hi, name = provider(wire), f"{wire}/m", user("Hi"), legal_name(READ.name)
    server.play(*[Answer.of(_answers(name)[wire])] * 2)

    turn = _message(await ask(asked, model_request(hi, model=model, tools=(READ,))))
    assert [call.name for call in turn.calls] == ["files.read"]
    await ask(asked, model_request(hi, turn, tool_result("c1", "A"), model=model, tools=(READ,)))

    sent = server.requests[-1].json
    assert sent.get("messages", sent.get("input"))[1:] == _wanted(wire, name)
