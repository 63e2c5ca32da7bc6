"""Whatever bytes a server sends: nothing is raised, and there is exactly one terminal event, the last."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.kernel.request import Delta, Failed, Finished
from pilothouse_agent.models.chat_stream import ChatStream
from pilothouse_agent.models.errors import Source
from support.model_server import calls_chunk, chat_body, choice_chunk, finish_chunk, text_chunk

USAGE = {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}}
DETAILS = [{"type": "reasoning.text", "text": "Hm", "index": 0, "signature": "s"}]
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CHUNKS = [
    text_chunk("<think>Hm.</think>Hi", reasoning="x", reasoning_details=DETAILS, refusal="no"),
    text_chunk(
        "", content=[{"type": "thinking", "thinking": [{"text": "x"}]}, {"type": "text", "text": "y"}]
    ),
    calls_chunk(CALL, {**CALL, "index": 1, "id": "c2", "extra_content": {"a": 1}}),
    choice_chunk(delta={"function_call": {"name": "f", "arguments": "{}"}}),
    finish_chunk("tool_calls", usage=USAGE, x_groq={"usage": USAGE}),
]
BODY = chat_body(*CHUNKS)

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "x", 7, -1, 2.5, True, [], {}, [None], {"a": 1}, "\ud83d"]
)


def _outcome(body: bytes, cuts: list[int]) -> list[Any]:
    answer = ChatStream(Source("p"), model="m", names={})
    borders = [0, *sorted(cuts), len(body)]
    events = [event for start, stop in pairwise(borders) for event in answer.feed(body[start:stop])]
    events += answer.end()
    assert [isinstance(event, Finished | Failed) for event in events] == [False] * (len(events) - 1) + [True]
    assert all(event.text.encode() is not None for event in events if isinstance(event, Delta))
    return events


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a JSON value there is something."""
    keys: list[Any] = []
    if isinstance(value, dict | list):
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]  # pyright: ignore[reportUnknownArgumentType]
    return [path, *(deeper for key in keys for deeper in _paths(value[key], (*path, key)))]


PLACES = _paths(CHUNKS)[1:]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_end_in_one_terminal_event(body: bytes, cuts: list[int]) -> None:
    _outcome(body, cuts)


@given(
    st.lists(st.tuples(st.integers(0, len(BODY)), st.binary(max_size=3)), max_size=8),
    st.integers(0, len(BODY)),
)
def test_an_answer_with_flipped_bytes_ends_in_one_terminal_event(
    flips: list[tuple[int, bytes]], end: int
) -> None:
    body = bytearray(BODY)
    for place, new in flips:
        body[place : place + len(new)] = new
    _outcome(bytes(body[:end]), [])


@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=4))
def test_values_of_any_type_anywhere_end_in_one_terminal_event(
    changes: list[tuple[tuple[Any, ...], Any]],
) -> None:
    chunks = json.loads(json.dumps(CHUNKS))
    for path, value in changes:
        _put(chunks, path, deepcopy(value))
    _outcome(b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), [])


@given(st.lists(st.integers(0, len(BODY)), max_size=30))
def test_cuts_do_not_change_what_comes_out(cuts: list[int]) -> None:
    assert _outcome(BODY, cuts) == _outcome(BODY, [])


def _put(root: Any, path: tuple[Any, ...], value: Any) -> None:
    """Sets the value at the path, if an earlier change has left the path there."""
    *outer, last = path
    with suppress(KeyError, IndexError, TypeError):
        for key in outer:
            root = root[key]
        root[last] = value
