"""Whatever bytes a server sends: nothing is raised, and there is exactly one terminal event, the last."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.request import (
    Delta,
    Failed,
    Finished,
    StreamEvent,
    ThinkingData,
    ToolArguments,
    ToolExtra,
)
from support.asking import MakeProvider, ask, model_request
from support.fuzzing import EVENTS, bodies, body_of, mutated
from support.model_server import Answer, ModelServer
from support.readers import reader_for

WIRES = sorted(EVENTS)
MUTATIONS = 3_100
"""Of recorded bodies, for each format; with the rest of this module 10,000 cases."""
SENT = 25
"""Of these over a connection."""

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "x", 7, -1, 2.5, True, [], {}, [None], {"a": 1}, "\ud83d", 2**70, "error", "[DONE]"]
)


def _read(wire: str, pieces: list[bytes]) -> list[StreamEvent]:
    reader = reader_for(wire)
    return _checked([*(event for piece in pieces for event in reader.feed(piece)), *reader.end()])


def _checked(events: list[StreamEvent]) -> list[StreamEvent]:
    assert [isinstance(event, Finished | Failed) for event in events] == [False] * (len(events) - 1) + [True]
    assert all(text.encode() is not None for event in events for text in _texts(event))
    return events


def _texts(event: StreamEvent) -> list[str]:
    """All that is shown or stored of an event; none may hold half a character."""
    match event:
        case Delta():
            return [event.text, event.call_id or "", event.tool_name or ""]
        case Failed():
            return [event.error.message]
        case Finished():
            return [event.model or ""]
        case ThinkingData():
            return [event.signature or "", json.dumps(event.data, ensure_ascii=False)]
        case ToolArguments():
            return [event.text]
        case Notice():
            return [event.message]
        case ToolExtra():
            return [json.dumps(event.extra, ensure_ascii=False)]


def _cut(body: bytes, cuts: list[int]) -> list[bytes]:
    borders = [0, *sorted(cuts), len(body)]
    return [body[start:stop] for start, stop in pairwise(borders)]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a JSON value there is something."""
    keys: list[Any] = []
    if isinstance(value, dict | list):
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]  # pyright: ignore[reportUnknownArgumentType]
    return [path, *(deeper for key in keys for deeper in _paths(value[key], (*path, key)))]


PLACES = {wire: _paths(events)[1:] for wire, events in EVENTS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_changed_recordings_end_in_one_terminal_event(wire: str) -> None:
    chance = random.Random(wire)
    found = bodies(wire)
    for case in range(MUTATIONS):
        body = mutated(found[case % len(found)], chance)
        _read(wire, _cut(body, [chance.randint(0, len(body)) for _ in range(chance.choice((0, 3)))]))


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
async def test_changed_recordings_are_never_more_than_a_failure_of_the_provider(
    wire: str, server: ModelServer, provider: MakeProvider
) -> None:
    chance = random.Random(f"{wire} sent")
    found = [body for body in bodies(wire) if len(body) < 20_000]
    asked = provider(wire)
    for _ in range(SENT):
        server.play(Answer.of(mutated(chance.choice(found), chance)))
        _checked(await ask(asked, model_request(model=f"{wire}/m")))


@pytest.mark.slow
@settings(max_examples=100)
@given(st.sampled_from(WIRES), st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_end_in_one_terminal_event(wire: str, body: bytes, cuts: list[int]) -> None:
    _read(wire, _cut(body, cuts))


@pytest.mark.slow
@settings(max_examples=150)
@given(
    st.sampled_from(WIRES),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3)), max_size=8),
    st.floats(0, 1),
)
def test_an_answer_with_flipped_bytes_ends_in_one_terminal_event(
    wire: str, flips: list[tuple[float, bytes]], end: float
) -> None:
    body = bytearray(body_of(wire, EVENTS[wire]))
    for part, new in flips:
        place = int(part * len(body))
        body[place : place + len(new)] = new
    _read(wire, [bytes(body[: int(end * len(body))])])


@pytest.mark.slow
@settings(max_examples=300)
@given(st.sampled_from(WIRES), st.data())
def test_values_of_any_type_anywhere_end_in_one_terminal_event(wire: str, data: st.DataObject) -> None:
    changes = data.draw(st.lists(st.tuples(st.sampled_from(PLACES[wire]), ODD), min_size=1, max_size=4))
    events = json.loads(json.dumps(EVENTS[wire]))
    for path, value in changes:
        _put(events, path, deepcopy(value))
    _read(wire, [b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)])


@pytest.mark.slow
@settings(max_examples=100)
@given(st.sampled_from(WIRES), st.lists(st.floats(0, 1), max_size=30))
def test_cuts_do_not_change_what_comes_out(wire: str, cuts: list[float]) -> None:
    body = body_of(wire, EVENTS[wire])
    assert _read(wire, _cut(body, [int(part * len(body)) for part in cuts])) == _read(wire, [body])


def _put(root: Any, path: tuple[Any, ...], value: Any) -> None:
    """Sets the value at the path, if an earlier change has left the path there."""
    *outer, last = path
    with suppress(KeyError, IndexError, TypeError):
        for key in outer:
            root = root[key]
        root[last] = value
