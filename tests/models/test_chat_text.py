"""Text, thinking and usage of chat answers as servers really send them; cuts never change the outcome."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import Delta, Finished, ThinkingData
from support.asking import MakeChat, Seen, ask, model_request, seen
from support.model_server import (
    Answer,
    ModelServer,
    chat_body,
    choice_chunk,
    finish_chunk,
    text_chunk,
)

HELLO = (text_chunk("Hello, "), text_chunk("wörld 👋"), finish_chunk("stop"))
PLAIN = chat_body(*HELLO)
WHOLE = {"role": "assistant", "content": "Hello, wörld 👋"}
TOKENS = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _object(**choice: Any) -> bytes:
    """A whole answer as one JSON object, no event stream."""
    return chat_body(choice_chunk(message=WHOLE, **choice), done=False).removeprefix(b"data: ")


def _text(*texts: str) -> bytes:
    return chat_body(*map(text_chunk, texts), finish_chunk())


def _counted(*chunks: dict[str, Any]) -> bytes:
    return chat_body(text_chunk("Hi"), *chunks)


def _detailed(**detail: Any) -> dict[str, Any]:
    return text_chunk("", reasoning_details=[{"type": "reasoning.text", **detail}])


HELLOS = {
    "crlf": PLAIN.replace(b"\n", b"\r\n"),
    "cr alone": PLAIN.replace(b"\n", b"\r"),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "no blank after the colon": PLAIN.replace(b"data: ", b"data:"),
    "comments everywhere": b": wait\n\n" + PLAIN.replace(b"data:", b": ping\ndata:"),
    "an object over several data lines": PLAIN.replace(b', "choices', b',\ndata: "choices'),
    "W11 W19 no DONE": chat_body(*HELLO, done=False),
    "W9 W11 no last blank line": PLAIN.removesuffix(b"\n\ndata: [DONE]\n\n"),
    "DONE between blanks": PLAIN.replace(b"[DONE]", b"  [DONE] "),
    "W11 DONE with an event name": PLAIN.replace(b"data: [DONE]", b"event: done\ndata: [DONE]"),
    "W11 data after DONE": PLAIN + _text("more"),
    "W14 one JSON object": _object(finish_reason="stop"),
    "W14 one JSON object without a reason": _object(),
    "W14 the whole message as one event": b"data: " + _object(finish_reason="stop"),
    "W32 chunks without choices": chat_body({"id": "x"}, {"choices": None}, {"choices": []}, *HELLO),
    "W32 delta null or left out": chat_body(choice_chunk(delta=None), choice_chunk(), *HELLO),
    "W17 JSON that is no chunk": b"data: null\n\ndata: [1]\n\ndata: 7\n\ndata: {}\n\n" + PLAIN,
    "W17 words between chunks": b"data: keep-alive\n\n" + PLAIN,
    "W39 other choices": chat_body(choice_chunk(index=1, delta={"content": "x"}), *HELLO),
    "W35 the whole message beside each delta": chat_body(
        *({"choices": [{**chunk["choices"][0], "message": WHOLE}]} for chunk in HELLO)
    ),
    "error null": chat_body({"error": None}, *HELLO),
}

TEXTS = {
    "W7 separators that end no line": (_text("a\u2028b\u0085c"), Seen("a\u2028b\u0085c")),
    "W34 content in parts": (
        chat_body(
            text_chunk("", content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]),
            text_chunk("", content=[{"type": "text", "text": "Yes"}, {"type": "reference"}]),
            finish_chunk(),
        ),
        Seen("Yes", "Hm."),
    ),
    "W41 a surrogate pair over two deltas": (
        _text("ok X", "Y!").replace(b"X", rb"\ud83d").replace(b"Y", rb"\ude00"),
        Seen("ok 😀!"),
    ),
    "W41 half a surrogate pair": (_text("a X", "b").replace(b"X", rb"\ud83d"), Seen("a \ufffdb")),
    "W41 half a surrogate pair at the end": (_text("a X").replace(b"X", rb"\ud83d"), Seen("a \ufffd")),
    "W40 refusal": (
        chat_body(text_chunk("", refusal="I "), text_chunk("", refusal="cannot."), finish_chunk()),
        Seen("I cannot.", end="refusal"),
    ),
}

THINKING = {
    "W37 reasoning_content": chat_body(text_chunk("", reasoning_content="Hm."), *HELLO),
    "W37 reasoning": chat_body(text_chunk("", reasoning="Hm."), *HELLO),
    "W37 both fields": chat_body(text_chunk("", reasoning="Hm.", reasoning_content="Hm."), *HELLO),
    "W37 details only": chat_body(
        text_chunk("", reasoning_details=[{"type": "reasoning.summary", "summary": "Hm.", "index": 0}]),
        *HELLO,
    ),
    "W37 details beside the field": chat_body(
        text_chunk("", reasoning="Hm.", reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]), *HELLO
    ),
    "W38 think tag": _text("<think>Hm.</think>Hello, wörld 👋"),
    "W38 thought tag": _text("<thought>\nHm.\n</thought>\n\nHello, wörld 👋"),
    "W38 think tag cut over deltas": _text(
        "\n", "<th", "ink>\n", "Hm", ".\n", "\n</", "think>", "\n", "Hello, wörld 👋"
    ),
}

TAGS = {
    "W37 in turns with the answer": (
        chat_body(
            *(text_chunk(text, reasoning=thought) for text, thought in [("x", "A"), ("y", "B")]), *HELLO
        ),
        Seen("xyHello, wörld 👋", "AB"),
    ),
    "W37 thinking without an answer": (
        chat_body(text_chunk("", reasoning="Hm."), finish_chunk()),
        Seen("", "Hm."),
    ),
    "W38 only the closing tag": (_text("Hm.</think>Yes"), Seen("Hm.</think>Yes")),
    "W43 a call left in the text": (
        _text('<tool_call>{"name": "now"}</tool_call>'),
        Seen('<tool_call>{"name": "now"}</tool_call>'),
    ),
    "W38 a tag never closed": (_text("<think>Hm </thin"), Seen("", "Hm </thin")),
    "W38 a tag in prose": (_text("Use <think>x</think>."), Seen("Use <think>x</think>.")),
    "W38 only the beginning of a tag": (_text(" <th"), Seen(" <th")),
    "W38 a second tag": (_text("<think>Hm.</think>Yes ", "<think>no"), Seen("Yes <think>no", "Hm.")),
}

COUNTED = Usage(input=10, output=5)
CACHED = {"prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}}
THOUGHT = {"completion_tokens_details": {"reasoning_tokens": 2}}

USAGES = {
    "W32 W36 in a last chunk without choices": (
        _counted(finish_chunk(), {"choices": [], "usage": TOKENS}),
        COUNTED,
    ),
    "W36 in the finish chunk": (_counted(finish_chunk(usage=TOKENS)), COUNTED),
    "W36 null and empty later": (
        _counted({"usage": TOKENS}, {"usage": None}, finish_chunk(usage={})),
        COUNTED,
    ),
    "W36 growing": (_counted({"usage": {"prompt_tokens": 1}}, finish_chunk(usage=TOKENS)), COUNTED),
    "W36 of Groq": (_counted(finish_chunk(x_groq={"id": "r", "usage": TOKENS})), COUNTED),
    "W36 in the choice": (_counted(choice_chunk(delta={}, finish_reason="stop", usage=TOKENS)), COUNTED),
    "cached and thought": (
        _counted(finish_chunk(usage={**TOKENS, **CACHED, **THOUGHT})),
        Usage(input=10, output=5, cache_read=4, cache_write=3, reasoning=2),
    ),
    "W36 cached by another name": (
        _counted(finish_chunk(usage={**TOKENS, "prompt_cache_hit_tokens": 4})),
        Usage(input=10, output=5, cache_read=4),
    ),
    "W36 without the output": (_counted(finish_chunk(usage={"prompt_tokens": 10})), Usage(input=10)),
    "that is no number": (
        _counted(finish_chunk(usage={"prompt_tokens": "10", "completion_tokens": True})),
        None,
    ),
}

EVERY_WAY = {
    **{name: (body, Seen("Hello, wörld 👋")) for name, body in HELLOS.items()},
    **TEXTS,
    **{name: (body, Seen("Hello, wörld 👋", "Hm.")) for name, body in THINKING.items()},
    **TAGS,
    **{f"usage {name}": (body, Seen("Hi", usage=usage)) for name, (body, usage) in USAGES.items()},
}


SENT_BACK: dict[str, tuple[list[dict[str, Any]], dict[str, Any] | None]] = {
    "W37 details in fragments": (
        [
            _detailed(text="a", index=0),
            _detailed(text="b", index=0, signature=None),
            _detailed(signature="s", index=0),
        ],
        {"reasoning_details": [{"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"}]},
    ),
    "W37 encrypted details without index": (
        [text_chunk("", reasoning_details=[{"type": "reasoning.encrypted", "data": data} for data in "xy"])],
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": data} for data in "xy"]},
    ),
    "the field that takes it": ([text_chunk("", reasoning_content="a")], {"field": "reasoning_content"}),
    "a field that takes nothing": ([text_chunk("", reasoning="a")], None),
}


FILTERED = {"content_filter_results": {"hate": {"filtered": False}}}


@pytest.mark.covers("W33")
async def test_the_notes_of_a_content_filter_change_nothing(server: ModelServer, chat: MakeChat) -> None:
    first = {"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0, **FILTERED}]}
    said = [{**text_chunk(text), "model": "m-2"} for text in ("Hello, ", "world")]
    noted = {"id": "", "model": "", "choices": [{"index": 0, "finish_reason": None, **FILTERED}]}
    ended = {"model": "", "choices": [{"index": 0, "finish_reason": "stop", **FILTERED}]}
    server.play(Answer.of(chat_body(first, *said, noted, ended)))
    assert await ask(chat(), model_request()) == [
        Delta("text", 0, "Hello, "),
        Delta("text", 0, "world"),
        Finished("stop", model="m-2"),
    ]


@pytest.mark.parametrize("name", SENT_BACK)
async def test_what_must_go_back_with_the_thinking_comes_before_the_end(
    name: str, server: ModelServer, chat: MakeChat
) -> None:
    chunks, data = SENT_BACK[name]
    server.play(Answer.of(chat_body(*chunks, finish_chunk())))
    kept = [event for event in await ask(chat(), model_request()) if isinstance(event, ThinkingData)]
    made_by = {"model": "openai-chat/m"}
    wanted = [] if data is None else [ThinkingData(0, data={**data, **made_by}, origin="openai-chat")]
    assert kept == wanted


@pytest.mark.covers("W12", "W13")
@pytest.mark.parametrize("content_type", ["application/json", "application/octet-stream", "text/plain"])
async def test_a_stream_under_a_wrong_type_and_compressed_is_read_all_the_same(
    content_type: str, server: ModelServer, chat: MakeChat
) -> None:
    headers = {"content-type": content_type, "content-encoding": "gzip"}
    server.play(Answer.of(gzip.compress(PLAIN), cut=7, headers=headers))
    assert seen(await ask(chat(), model_request())) == Seen("Hello, wörld 👋")


@pytest.mark.parametrize("cut", [0, 1, 7], ids=["whole", "1", "7"])
@pytest.mark.parametrize("name", EVERY_WAY)
async def test_the_same_text_comes_out_however_the_server_puts_and_cuts_it(
    name: str, cut: int, server: ModelServer, chat: MakeChat
) -> None:
    body, outcome = EVERY_WAY[name]
    server.play(Answer.of(body, cut=cut))
    assert seen(await ask(chat(), model_request())) == outcome
