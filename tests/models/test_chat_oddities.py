"""Chat answers of servers that keep to the format only roughly; cuts never change the outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import Usage
from support.asking import Seen, seen
from support.model_server import calls_chunk, chat_body, choice_chunk, finish_chunk, text_chunk
from support.readers import reader_for

Fields = dict[str, Any]

A, B = '{"path":"a"}', '{"path":"b"}'
HI, STOP, DONE = text_chunk("Hi"), finish_chunk(), b"data: [DONE]\n\n"
SAID = chat_body(HI, done=False)
ONE = Seen(calls=(("c1", "read", A),), end="toolUse")
TWO = Seen(calls=(("c1", "read", A), ("c2", "read", B)), end="toolUse")
BOTH_C1 = Seen(calls=(("c1", "read", A), ("c1", "read", B)), end="toolUse")
NAMELESS = Seen(calls=(("", "read", A), ("", "read", B)), end="toolUse")


def _call(
    index: Any = None, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> Fields:
    """A fragment without the fields that are None."""
    function = {"name": name, "arguments": arguments}
    fields = {"index": index, "id": call_id, "function": _given(function)}
    return _given(fields)


def _given(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


def _calls(*fragments: Fields) -> bytes:
    """One chunk for each fragment."""
    return chat_body(*map(calls_chunk, fragments), finish_chunk("tool_calls"))


def _lines(*chunks: Fields, before: str = "data: ") -> bytes:
    return "".join(f"{before}{json.dumps(chunk)}\n" for chunk in chunks).encode()


def _parts(*parts: Any) -> bytes:
    return chat_body(choice_chunk(delta={"content": list(parts)}), STOP)


FRAMES = {
    "no blank lines between events": (_lines(HI, STOP) + b"data: [DONE]\n", Seen("Hi")),
    "no blank lines and a cut end": (_lines(HI, HI)[:-9], Seen("Hi", end="incompleteStream")),
    "a JSON object on each line": (_lines(HI, STOP, before=""), Seen("Hi")),
    "W11 DONE as a JSON text": (SAID + b'data: "[DONE]"\n\n', Seen("Hi")),
    "W11 DONE in small letters": (SAID + b"data: [done]\n\n", Seen("Hi")),
    "nothing but comments": (b": wait\n\n: wait\n\n", Seen(end="incompleteStream")),
    "nothing but fields without data": (b"event: ping\n\nid: 1\nretry: 5\n\n", Seen(end="incompleteStream")),
    "a bare line that is no event": (SAID + b'{"a": 1}\n{broken}\n' + chat_body(STOP), Seen("Hi")),
}

CALLS = {
    "W22 an index on the first fragment only": (
        _calls(_call(0, "c1", "read"), _call(arguments=A), _call(1, "c2", "read"), _call(arguments=B)),
        TWO,
    ),
    "an index on later fragments only": (_calls(_call(None, "c1", "read"), _call(0, arguments=A)), ONE),
    "W23 index 0 for each, and back to the first": (
        _calls(
            _call(0, "c1", "read"), _call(0, "c2", "read"), _call(0, "c1", None, A), _call(0, "c2", None, B)
        ),
        TWO,
    ),
    "W23 index 0 for each without ids": (
        _calls(_call(0, None, "read", A), _call(0, None, "read", B)),
        NAMELESS,
    ),
    "index and id the same for each": (_calls(_call(0, "c1", "read", A), _call(0, "c1", "read", B)), BOTH_C1),
    "W25 the same id for each, no index": (
        _calls(_call(None, "c1", "read", A), _call(None, "c1", "read", B)),
        BOTH_C1,
    ),
    "whole once more at the end": (
        _calls(_call(0, "c1", "read", ""), _call(0, None, None, A), _call(0, "c1", "read", A)),
        ONE,
    ),
    "whole once more in a message": (
        chat_body(
            calls_chunk(_call(0, "c1", "read", A)),
            choice_chunk(message={"tool_calls": [_call(0, "c1", "read", A)]}, finish_reason="tool_calls"),
        ),
        ONE,
    ),
    "W25 the id after some arguments": (
        _calls(_call(0, None, "read", '{"path"'), _call(0, "c1", None, ':"a"}')),
        ONE,
    ),
    "W25 the id after all arguments": (_calls(_call(0, None, "read", A), _call(0, "c1")), ONE),
    "two without ids in fragments keep their order": (
        _calls(
            _call(0, None, "read"), _call(0, arguments=A), _call(1, "c2", "read"), _call(1, arguments=B)
        ),
        Seen(calls=(("", "read", A), ("c2", "read", B)), end="toolUse"),
    ),
    "an empty object in the place of arguments to come": (
        _calls(_call(0, "c1", "read", "{}"), _call(0, None, None, A)),
        ONE,
    ),
    "an empty object and no more": (
        _calls(_call(0, "c1", "now", "{}")),
        Seen(calls=(("c1", "now", "{}"),), end="toolUse"),
    ),
    "name and arguments beside the id": (_calls({"id": "c1", "name": "read", "arguments": A}), ONE),
    "W43 a token of the model behind the name": (_calls(_call(0, "c1", "read<|channel|>json", A)), ONE),
    "W43 a word for all functions of another model": (_calls(_call(0, "c1", "default_api:read", A)), ONE),
    "one call that is no list": (
        chat_body(choice_chunk(delta={"tool_calls": _call(0, "c1", "read", A)}), finish_chunk("tool_calls")),
        ONE,
    ),
    "in the old form besides": (
        chat_body(
            choice_chunk(
                delta={
                    "tool_calls": [_call(0, "c1", "read", A)],
                    "function_call": {"name": "read", "arguments": A},
                }
            ),
            finish_chunk("tool_calls"),
        ),
        ONE,
    ),
}  # fmt: skip

CONTENTS = {
    "W34 parts that are texts": (_parts("H", {"type": "text", "text": "i"}), Seen("Hi")),
    "one part that is no list": (
        chat_body(choice_chunk(delta={"content": {"type": "text", "text": "Hi"}}), STOP),
        Seen("Hi"),
    ),
    "W34 thinking in a part as a summary": (
        _parts({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}, "Hi"),
        Seen("Hi", "Hm."),
    ),
    "W40 a refusal in a part": (_parts({"type": "refusal", "refusal": "No."}), Seen("No.", end="refusal")),
    "the index of the choice as a text": (
        chat_body(choice_chunk(delta={"content": "Hi"}, index="0"), STOP),
        Seen("Hi"),
    ),
    "one choice that is no list": (chat_body({"choices": HI["choices"][0]}, STOP), Seen("Hi")),
    "numbers with a point": (
        chat_body(HI, finish_chunk(usage={"prompt_tokens": 3.0, "completion_tokens": 1.0})),
        Seen("Hi", usage=Usage(input=3, output=1)),
    ),
}  # fmt: skip

ENDS = {
    "W31 a plain reason, then another": (
        chat_body(HI, STOP, finish_chunk("length")),
        Seen("Hi", end="length"),
    ),
    "W31 text after the reason": (chat_body(text_chunk("H"), STOP, text_chunk("i")), Seen("Hi")),
    "W31 the same reason twice": (chat_body(HI, STOP, STOP), Seen("Hi")),
    "particulars behind a colon": (
        chat_body(HI, finish_chunk("content_filter: RECITATION")),
        Seen("Hi", end="refusal"),
    ),
    "a call that the server threw away": (
        chat_body(finish_chunk("function_call_filter: MALFORMED_FUNCTION_CALL")),
        Seen(end="toolCallInvalid"),
    ),
    "a call thrown away after text": (
        chat_body(HI, finish_chunk("function_call_filter: MALFORMED_FUNCTION_CALL")),
        Seen("Hi"),
    ),
    "W16 an error in a field of its own": (
        SAID + b'error: {"code":400,"message":"the request exceeds the available context size"}\n\n' + DONE,
        Seen("Hi", end="contextOverflow"),
    ),
    "W16 an error on a bare line": (
        SAID + b'{"error":{"type":"overloaded_error","message":"x"}}\n',
        Seen("Hi", end="overloaded"),
    ),
    "an error on a bare line, first": (
        b'{"error":{"code":"insufficient_quota"}}\n\n' + DONE,
        Seen(end="quota"),
    ),
    "W16 an error in the delta": (
        chat_body(HI, choice_chunk(delta={"error": {"code": 429}})),
        Seen("Hi", end="rateLimit"),
    ),
    "an error beside the request's id": (
        chat_body(HI, finish_chunk(None, x_groq={"id": "r", "error": "at capacity"})),
        Seen("Hi", end="overloaded"),
    ),
    "an error that only its type tells": (
        chat_body({"type": "error", "message": "Too many requests"}),
        Seen(end="rateLimit"),
    ),
    "W16 an error under the name of a class": (
        chat_body({"object": "error", "message": "x", "type": "RateLimitError"}),
        Seen(end="rateLimit"),
    ),
    "a verdict without choices": (
        chat_body({"choices": None, "base_resp": {"status_code": 9, "status_msg": "insufficient balance"}}),
        Seen(end="quota"),
    ),
    "a good verdict at the end": (
        chat_body(HI, STOP, {"choices": [], "base_resp": {"status_code": 0, "status_msg": ""}}),
        Seen("Hi"),
    ),
    "a detail, and no more": (
        chat_body(HI, {"detail": "Rate limit exceeded"}, done=False),
        Seen("Hi", end="rateLimit"),
    ),
    "a code and words, and no more": (
        chat_body({"code": "InvalidApiKey", "message": "No."}, done=False),
        Seen(end="auth"),
    ),
    "words from the side do no harm": (
        chat_body({"message": "queued", "status": "ok"}, HI, STOP),
        Seen("Hi"),
    ),
    "a model that is not there": (chat_body({"error": "model 'x' not found"}), Seen(end="modelNotFound")),
}

EVERY = {**FRAMES, **CALLS, **CONTENTS, **ENDS}


@pytest.mark.covers("R097", "K73", "K74")
@pytest.mark.parametrize("size", [None, 1, 7], ids=["whole", "1", "7"])
@pytest.mark.parametrize("name", EVERY)
def test_what_was_meant_comes_out_however_it_is_put_and_cut(name: str, size: int | None) -> None:
    body, outcome = EVERY[name]
    reader, step = reader_for("openai-chat"), size or len(body)
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    assert seen([*(event for piece in pieces for event in reader.feed(piece)), *reader.end()]) == outcome
