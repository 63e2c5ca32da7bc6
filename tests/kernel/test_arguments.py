"""What models write as arguments, and what is made of it (T5)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.arguments import complete_arguments, parse_arguments
from pilothouse_agent.kernel.json_types import JsonObject

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


@pytest.mark.covers("T5", "W26", "W27", "W41", "W42")
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ("{}", {}),
        ('{"a": "b"}', {"a": "b"}),
        (' {"a": 1}\n', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}),
        ('{"a": "x,}", "b": ",]",}', {"a": "x,}", "b": ",]"}),
        ('{"a": "\\",}",}', {"a": '",}'}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}\n  ```', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "```\\n"}', {"a": "```\n"}),
        ('{"a": "\\ud83d\\ude00 \\ud83d", "\\ude00": 1}', {"a": "😀 \ufffd", "\ufffd": 1}),
        ('{"a": 1' + "0" * 30 + "}", {"a": 10**30}),
        ('{"a": "tab\there"}', {"a": "tab\there"}),
    ],
)
def test_what_is_unambiguous_is_mended(text: str, arguments: JsonObject) -> None:
    assert parse_arguments(text) == arguments


@pytest.mark.covers("T5", "R097", "K43", "W42")
@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "true",
        '"text"',
        '"[1]"',
        "{",
        '{"a": 1',
        '{"a": "b',
        '{"a": "b\\',
        '{"a": 1} {"b": 2}',
        '{"a": 1} thanks',
        '{"a" 1}',
        "{'a': 1}",
        "{'a': True, 'b': None}",
        '{"a": "C:\\d"}',
        '{"a": 1}<|end|>',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '```json\n{"a": 1',
        '```json\n{"a": 1}',
        '``` {"a": 1} ```',
        "```",
        "[" * 100_000,
        '{"a": ' * 20_000,
    ],
)
def test_what_is_no_whole_object_is_none(text: str) -> None:
    assert parse_arguments(text) is None


@pytest.mark.covers("T5")
@settings(max_examples=50, deadline=None)
@given(OBJECTS)
def test_every_object_comes_back_as_it_was_written(arguments: dict[str, object]) -> None:
    text = json.dumps(arguments)

    assert (parse_arguments(text), complete_arguments(text)) == (arguments, arguments)


@pytest.mark.covers("T5")
@settings(max_examples=50, deadline=None)
@given(OBJECTS)
def test_trailing_commas_are_mended_and_strings_left_alone(arguments: dict[str, object]) -> None:
    text = json.dumps({"text": ',}",]', "list": [arguments]}).removesuffix("]}") + ",],}"

    assert parse_arguments(text) == {"text": ',}",]', "list": [arguments]}


@pytest.mark.covers("T5", "R097", "L3")
@settings(max_examples=50, deadline=None)
@given(OBJECTS.filter(bool), st.data())
def test_no_part_of_an_object_is_taken_for_the_whole(
    arguments: dict[str, object], data: st.DataObject
) -> None:
    text = json.dumps(arguments)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]

    assert (parse_arguments(cut), complete_arguments(cut)) == (None, None)


@pytest.mark.covers("T5")
@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ['{"content": "' + 'say(\\"hi\\")\n' * 50_000, "```" + "\n" * 50_000 + "{"])
def test_a_long_text_that_was_cut_is_refused_in_linear_time(text: str) -> None:
    """In quadratic time, which would hold up the event loop, it would take minutes."""
    assert parse_arguments(text) is None
