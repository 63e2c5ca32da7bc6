"""Tool calls of chat answers, however servers number, name and repeat their fragments."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import Delta, Finished, ToolExtra, ToolSpec
from pilothouse_agent.models.chat_completions.request import ChatRequests
from support.asking import MakeChat, Seen, ask, model_request, seen
from support.model_server import (
    Answer,
    ModelServer,
    calls_chunk,
    chat_body,
    choice_chunk,
    finish_chunk,
    text_chunk,
)

Fields = dict[str, Any]


def _call(call_id: str | None, index: Any, name: str | None, arguments: Any) -> Fields:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


def _more(index: Any, arguments: str) -> Fields:
    return {"index": index, "function": {"arguments": arguments}}


def _bare(call: Fields, *fields: str) -> Fields:
    return {key: value for key, value in call.items() if key not in fields}


def _chunks(*deltas: Fields) -> bytes:
    """One chunk for each fragment."""
    return chat_body(*map(calls_chunk, deltas), finish_chunk("tool_calls"))


A, B = '{"path":"a"}', '{"path":"b"}'
FIRST, SECOND = _call("c1", 0, "read", A), _call("c2", 1, "read", B)
ONE = Seen(calls=(("c1", "read", A),), end="toolUse")
TWO = Seen(calls=(("c1", "read", A), ("c2", "read", B)), end="toolUse")
NAMELESS = Seen(calls=(("", "read", A), ("", "read", B)), end="toolUse")

STREAMS = {
    "in fragments": (_chunks(_call("c1", 0, "read", ""), _more(0, '{"path'), _more(0, '":"a"}')), ONE),
    "W28 interleaved": (
        _chunks(_call("c1", 0, "read", ""), _call("c2", 1, "read", ""), _more(1, B), _more(0, A)),
        TWO,
    ),
    "W28 two in one delta": (chat_body(calls_chunk(FIRST, SECOND), finish_chunk("tool_calls")), TWO),
    "W22 without index, each whole": (_chunks(_bare(FIRST, "index"), _bare(SECOND, "index")), TWO),
    "W22 without index, in fragments": (
        _chunks(_call("c1", None, "read", ""), _more(None, A), _call("c2", None, "read", B)),
        TWO,
    ),
    "W22 without index, back to a known id": (
        _chunks(
            *(_call(call_id, None, "read", "") for call_id in ("c1", "c2")),
            _call("c1", None, None, A),
            _call("c2", None, None, B),
        ),
        TWO,
    ),
    "W22 W25 without index and id": (
        _chunks(_bare(FIRST, "index", "id"), _bare(SECOND, "index", "id")),
        NAMELESS,
    ),
    "W25 without id": (_chunks(_bare(FIRST, "id"), _call("", 1, "read", B)), NAMELESS),
    "W23 index 0 for each": (_chunks(FIRST, {**SECOND, "index": 0}), TWO),
    "W23 index 0 for each, in fragments": (
        _chunks(_call("c1", 0, "read", ""), _call("", 0, None, A), _call("c2", 0, "read", ""), _more(0, B)),
        TWO,
    ),
    "W28 indexes with gaps, one as text": (_chunks(_call("c1", "3", "read", ""), _more(3, A), SECOND), TWO),
    "W24 id and name on each fragment": (
        _chunks(_call("c1", 0, "read", '{"path"'), _call("c1", 0, "read", ':"a"}')),
        ONE,
    ),
    "W24 another id on each fragment": (_chunks(_call("c1", 0, "read", ""), _call("c9", 0, None, A)), ONE),
    "W24 an empty name on fragments": (_chunks(_call("c1", 0, "read", ""), _call("", 0, "", A)), ONE),
    "W25 name late": (_chunks(_call("c1", 0, None, ""), _call(None, 0, "read", ""), _more(0, A)), ONE),
    "W25 id late": (_chunks(_call(None, 0, "read", ""), _call("c1", 0, None, ""), _more(0, A)), ONE),
    "W25 the same id twice": (
        _chunks(FIRST, {**SECOND, "id": "c1"}),
        Seen(calls=(("c1", "read", A), ("c1", "read", B)), end="toolUse"),
    ),
    "W28 the old function_call": (
        chat_body(
            text_chunk("", function_call={"name": "read", "arguments": ""}),
            text_chunk("", function_call={"arguments": A}),
            finish_chunk("function_call"),
        ),
        Seen(calls=(("", "read", A),), end="toolUse"),
    ),
    "W26 arguments left out": (
        _chunks({"index": 0, "id": "c1", "function": {"name": "now"}}),
        Seen(calls=(("c1", "now", ""),), end="toolUse"),
    ),
    "W26 arguments null": (
        _chunks(_call("c1", 0, "now", None)),
        Seen(calls=(("c1", "now", ""),), end="toolUse"),
    ),
    "W26 arguments that say null": (
        _chunks(_call("c1", 0, "now", "null")),
        Seen(calls=(("c1", "now", "null"),), end="toolUse"),
    ),
    "W27 arguments an object": (_chunks(_call("c1", 0, "read", {"path": "a"})), ONE),
    "fragments without anything": (_chunks(FIRST, {"index": 1}, {"index": 2, "function": None}), ONE),
    "no name at all": (_chunks(_call("c1", 0, None, A)), Seen(calls=(("c1", "", A),), end="toolUse")),
    "W43 a word for all functions before the name": (_chunks(_call("c1", 0, "functions.read", A)), ONE),
    "W43 blanks around the name": (_chunks(_call("c1", 0, " read\n", A)), ONE),
    "W30 stop beside calls": (chat_body(calls_chunk(FIRST), finish_chunk("stop")), ONE),
    "W28 call, reason and usage in one chunk": (
        chat_body(
            {
                **choice_chunk(delta={"tool_calls": [FIRST]}, finish_reason="tool_calls"),
                "usage": {"prompt_tokens": 3, "completion_tokens": 1},
            }
        ),
        ONE._replace(usage=Usage(input=3, output=1)),
    ),
    "W30 tool_calls beside a call that was cut": (
        _chunks(_call("c1", 0, "read", '{"pa')),
        Seen(calls=(("c1", "read", '{"pa'),), end="toolUse"),
    ),
    "W31 DONE without a reason": (chat_body(calls_chunk(FIRST)), ONE),
    "W30 tool_calls without calls": (chat_body(text_chunk("Hi"), finish_chunk("tool_calls")), Seen("Hi")),
    "W14 a JSON object in place of a stream": (
        chat_body(choice_chunk(message={"tool_calls": [FIRST]}), done=False).removeprefix(b"data: "),
        ONE,
    ),
    "text before and after": (
        chat_body(text_chunk("a"), calls_chunk(FIRST), text_chunk("b"), finish_chunk()),
        Seen("ab", calls=ONE.calls, end="toolUse"),
    ),
    "W30 the limit inside arguments": (
        chat_body(calls_chunk(_call("c1", 0, "write", '{"pa')), finish_chunk("length")),
        Seen(calls=(("c1", "write", '{"pa'),), end="length"),
    ),
    "the end inside arguments": (
        chat_body(calls_chunk(_call("c1", 0, "write", '{"pa')), done=False),
        Seen(calls=(("c1", "write", '{"pa'),), end="incompleteStream"),
    ),
    "the end before the name": (
        chat_body(calls_chunk(_call("c1", 0, None, '{"pa')), done=False),
        Seen(end="incompleteStream"),
    ),
}


@pytest.mark.covers("R097", "R098")
@pytest.mark.parametrize("cut", [0, 1, 7], ids=["whole", "1", "7"])
@pytest.mark.parametrize("name", STREAMS)
async def test_the_same_calls_come_out_however_the_server_puts_and_cuts_them(
    name: str, cut: int, server: ModelServer, chat: MakeChat
) -> None:
    body, outcome = STREAMS[name]
    server.play(Answer.of(body, cut=cut))
    assert seen(await ask(chat(), model_request())) == outcome


async def test_blanks_held_back_for_a_tag_come_before_the_call_that_follows_them(
    server: ModelServer, chat: MakeChat
) -> None:
    server.play(Answer.of(chat_body(text_chunk("\n"), calls_chunk(FIRST), finish_chunk())))
    assert await ask(chat(), model_request()) == [
        Delta("text", 0, "\n"),
        Delta("toolCall", 1, A, "c1", "read"),
        Finished("toolUse"),
    ]


async def test_a_name_made_legal_for_the_wire_comes_back_as_the_tools_own(
    server: ModelServer, chat: MakeChat
) -> None:
    tools = (ToolSpec("my.tool", "", {}),)
    (legal,) = ChatRequests().names(tools)
    server.play(Answer.of(_chunks(_call("c1", 0, legal, "{}"))))
    assert seen(await ask(chat(), model_request(tools=tools))).calls == (("c1", "my.tool", "{}"),)


SIGNATURE: Fields = {"extra_content": {"google": {"thought_signature": "s"}}}


@pytest.mark.covers("W29")
@pytest.mark.parametrize(
    "fragments", [[{**FIRST, **SIGNATURE}], [FIRST, {"index": 0, **SIGNATURE}]], ids=["with it", "after it"]
)
async def test_what_a_server_wants_back_with_a_call_comes_beside_it(
    fragments: list[Fields], server: ModelServer, chat: MakeChat
) -> None:
    server.play(Answer.of(_chunks(*fragments)))
    assert await ask(chat(), model_request()) == [
        Delta("toolCall", 0, A, "c1", "read"),
        ToolExtra(0, {"extra_content": {"google": {"thought_signature": "s"}}, "model": "openai-chat/m"}),
        Finished("toolUse"),
    ]
