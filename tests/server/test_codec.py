from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_server.wire.codec import decode, encode

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
surrogates = st.text(st.characters(categories=["Cs", "Ll"]), max_size=6)


@given(values)
def test_what_json_holds_comes_back_as_it_was(value: Any) -> None:
    assert json.loads(encode(value)) == value


@given(surrogates)
@pytest.mark.covers("R185")
def test_lone_surrogates_are_replaced_in_both_directions_and_pairs_are_joined(text: str) -> None:
    mended = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    assert decode(encode({text: [text]})) == {mended: [mended]}
    assert decode(json.dumps({text: [text]}).encode()) == {mended: [mended]}


@pytest.mark.covers("R185")
def test_a_lone_surrogate_becomes_one_replacement_character() -> None:
    assert encode("测试 😋 \ud83d") == '"测试 😋 \ufffd"'.encode()


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_deeper_than_the_quick_way_goes_is_still_json() -> None:
    assert decode(encode(nested(300))) == nested(300)


def test_too_deep_is_refused_in_both_directions() -> None:
    for deep in (b"[" * 100_000 + b"]" * 100_000, b'{"\\ud83d":' * 100_000 + b"1" + b"}" * 100_000):
        with pytest.raises(ValueError, match=r"."):
            decode(deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        encode(nested(100_000))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{'a': 1}",
        b"NaN",
        b'{"a": NaN, "b": "\\ud83d"}',
        '{"a": 1}'.encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b'"\xff"',
        b'"\xff\\ud83d"',
    ],
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(body)


@pytest.mark.parametrize("value", [object(), {"a": {1, 2}}, b"bytes"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        encode(value)


def test_an_infinite_number_becomes_null() -> None:
    assert encode([float("nan"), float("inf")]) == b"[null,null]"
