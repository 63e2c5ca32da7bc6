"""Framing of events as servers really do it: the same for each format."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from pilothouse_agent.models.chat_completions.stream import ChatStream
from pilothouse_agent.models.http.answer_reader import AnswerReader
from pilothouse_agent.models.http.errors import Source
from support.asking import MakeProvider, Seen, ask, failure, model_request, seen
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, text_chunk
from support.typed_events import answer, block, delta, message, text_delta

TEXT = "Hello,\u2028 wörld\u0085 👋"
"""With separators that end no line."""
BODIES = {
    "openai-chat": chat_body(text_chunk("Hello,\u2028 "), text_chunk("wörld\u0085 👋"), finish_chunk()),
    "openai": answer(text_delta("Hello,\u2028 "), text_delta("wörld\u0085 👋")),
    "anthropic": message(
        *block({"type": "text", "text": ""}, delta("text", "Hello,\u2028 "), delta("text", "wörld\u0085 👋"))
    ),
}

FRAMINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it should be": bytes,
    "W1 crlf": lambda body: body.replace(b"\n", b"\r\n"),
    "W1 cr alone": lambda body: body.replace(b"\n", b"\r"),
    "W1 ends of lines mixed": lambda body: body.replace(b"\n\n", b"\r\n\r"),
    "W2 byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "W3 no blank after the colon": lambda body: body.replace(b"data: ", b"data:"),
    "W3 two blanks after the colon": lambda body: body.replace(b"data: ", b"data:  "),
    "W4 comments everywhere": lambda body: b": wait\n\n" + body.replace(b"data:", b": ping\ndata:"),
    "W8 ids, retries and fields nobody knows": lambda body: body.replace(
        b"data:", b"id: 7\nretry: 3\nx\ndata:"
    ),
    "W8 events without data": lambda body: b"event: x\n\ndata:\n\ndata: \n\n" + body,
    "W5 an object over several data lines": lambda body: body.replace(b', "', b',\ndata: "', 1),
    "W8 blank lines first": lambda body: b"\n\r\n\n" + body,
    "W9 no last blank line": lambda body: body.rstrip(b"\n"),
    "W11 DONE at the end": lambda body: body + b"data: [DONE]\n\n",
    "W11 DONE between blanks": lambda body: body + b"data:   [DONE]  \n\n",
    "W11 data after the end": lambda body: body + body,
    "W17 JSON that is no event": lambda body: b"data: null\n\ndata: [1]\n\ndata: 7\n\ndata: {}\n\n" + body,
    "W17 words between events": lambda body: b"data: keep-alive\n\n" + body,
}


@pytest.mark.covers("W6", "W7")
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("wire", BODIES)
async def test_the_same_text_comes_out_however_events_are_framed(
    wire: str, framing: str, server: ModelServer, provider: MakeProvider
) -> None:
    body = FRAMINGS[framing](BODIES[wire])
    server.play(Answer.of(body), Answer.of(body, cut=1))
    asked = provider(wire)
    answers = [seen(await ask(asked, model_request(model=f"{wire}/m"))) for _ in range(2)]
    assert answers == [Seen(TEXT)] * 2


@pytest.mark.covers("W12", "W13")
@pytest.mark.parametrize("wire", BODIES)
@pytest.mark.parametrize("content_type", ["application/json", "application/octet-stream", "text/plain"])
async def test_a_stream_under_a_wrong_type_and_compressed_is_read_all_the_same(
    content_type: str, wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    headers = {"content-type": content_type, "content-encoding": "gzip"}
    server.play(Answer.of(gzip.compress(BODIES[wire]), cut=7, headers=headers))
    assert seen(await ask(provider(wire), model_request(model=f"{wire}/m"))) == Seen(TEXT)


@pytest.mark.parametrize("piece", [b" " * (1 << 20), b"data: a\n" * (1 << 17)], ids=["a line", "an event"])
def test_what_never_ends_is_not_kept_for_ever(piece: bytes) -> None:
    reader: AnswerReader = ChatStream(Source("p"), model="p/m", names={})
    fed = 0
    while not reader.done and fed < 100:
        reader.feed(piece)
        fed += 1
    error = failure(reader.end())
    assert (error.kind, error.message) == ("badResponse", "p sent 64 MB without an end of an event.")
    assert fed == 65
