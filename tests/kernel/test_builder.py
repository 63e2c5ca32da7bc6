"""An assistant message as it grows from deltas (E1, T6, L3)."""

from __future__ import annotations

from itertools import count

import pytest

from pilothouse_agent.kernel.builder import MessageBuilder
from pilothouse_agent.kernel.events import MessageUpdate
from pilothouse_agent.kernel.messages import TextBlock, ThinkingBlock, ToolCall
from pilothouse_agent.kernel.request import Delta, ThinkingData, ToolArguments, ToolExtra


def builder(*taken: str) -> MessageBuilder:
    numbers = count(1)
    return MessageBuilder("m1", taken=set(taken), new_id=lambda: f"own{next(numbers)}")


def ids(built: MessageBuilder) -> list[str]:
    return [block.id for block in built.content("finished") if isinstance(block, ToolCall)]


@pytest.mark.covers("E1")
def test_updates_carry_only_new_text_with_the_index_of_their_block() -> None:
    b = builder()

    updates = [
        b.add(Delta("thinking", 0, "Hm")),
        b.add(Delta("text", 7, "Hel")),
        b.add(Delta("text", 7, "lo")),
        b.add(Delta("toolCall", 9, "", "c1", "echo")),
        b.add(Delta("toolCall", 9, "{}")),
        b.add(Delta("thinking", 0, "!")),
    ]

    assert updates == [
        MessageUpdate("m1", "thinking", 0, "Hm"),
        MessageUpdate("m1", "text", 1, "Hel"),
        MessageUpdate("m1", "text", 1, "lo"),
        MessageUpdate("m1", "toolCall", 2, "", "c1", "echo"),
        MessageUpdate("m1", "toolCall", 2, "{}", "c1", "echo"),
        MessageUpdate("m1", "thinking", 0, "!"),
    ]
    assert b.content("finished") == (ThinkingBlock("Hm!"), TextBlock("Hello"), ToolCall("c1", "echo", {}))


@pytest.mark.covers("R298")
def test_the_whole_arguments_take_the_place_of_pieces_of_which_some_were_lost() -> None:
    b = builder()
    for text in ('{"pa', 'a"}'):
        b.add(Delta("toolCall", 3, text, "c1", "echo"))

    b.add_data(ToolArguments(3, '{"path":"a"}'))
    b.add_data(ToolArguments(4, "of no call"))

    assert b.content("finished") == (ToolCall("c1", "echo", {"path": "a"}),)


@pytest.mark.covers("E1")
@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_a_delta_without_text_opens_nothing_and_says_nothing(kind: str) -> None:
    b = builder()

    update = b.add(Delta("text" if kind == "text" else "thinking", 0, ""))

    assert (update, b.visible, b.content("finished")) == (None, False, ())


@pytest.mark.covers("E1")
def test_a_call_is_told_at_its_first_delta_and_its_name_when_it_comes() -> None:
    b = builder()

    updates = [
        b.add(Delta("toolCall", 0, "", "c1")),
        b.add(Delta("toolCall", 0, "", None, "echo")),
        b.add(Delta("toolCall", 0, "", None, "echo")),
    ]

    assert updates == [
        MessageUpdate("m1", "toolCall", 0, "", "c1", None),
        MessageUpdate("m1", "toolCall", 0, "", "c1", "echo"),
        None,
    ]


@pytest.mark.covers("T6", "K26", "W25")
@pytest.mark.parametrize("given", [None, "", "c1", "old"])
def test_a_missing_repeated_or_taken_id_is_replaced_and_the_first_keeps_its_own(given: str | None) -> None:
    b = builder("old")

    b.add(Delta("toolCall", 0, "{}", "c1", "echo"))
    update = b.add(Delta("toolCall", 1, "{}", given, "echo"))

    assert update == MessageUpdate("m1", "toolCall", 1, "{}", "own1", "echo")
    assert ids(b) == ["c1", "own1"]


@pytest.mark.covers("T6")
def test_a_new_id_is_itself_unique() -> None:
    b = builder("own1")

    for number, given in enumerate(["own2", "", "own3"]):
        b.add(Delta("toolCall", number, "{}", given, "echo"))

    assert ids(b) == ["own2", "own3", "own4"]


@pytest.mark.covers("T6")
def test_an_id_is_final_at_the_first_delta() -> None:
    b = builder()

    b.add(Delta("toolCall", 0, "{", "", "echo"))
    update = b.add(Delta("toolCall", 0, "}", "late", "other"))

    assert update == MessageUpdate("m1", "toolCall", 0, "}", "own1", "echo")
    assert b.content("finished") == (ToolCall("own1", "echo", {}),)


@pytest.mark.covers("L3", "K59")
@pytest.mark.parametrize("text", ["", "{", '{"v": "a', '{"v": 1', "null", "[1]", '{"v": 1,}', "[" * 100_000])
def test_a_broken_answer_keeps_no_call_whose_arguments_are_unfinished(text: str) -> None:
    b = builder()

    b.add(Delta("text", 0, "Now"))
    b.add(Delta("toolCall", 1, text, "c1", "echo"))

    assert b.content("broken") == (TextBlock("Now"),)


@pytest.mark.covers("L3")
def test_a_broken_answer_keeps_its_complete_calls() -> None:
    b = builder()

    b.add(Delta("toolCall", 0, '{"v": 1}', "c1", "echo"))
    b.add(Delta("toolCall", 1, '{"v"', "c2", "echo"))
    b.add(Delta("toolCall", 2, "{}", "c3"))

    assert b.content("broken") == (ToolCall("c1", "echo", {"v": 1}),)


@pytest.mark.covers("K44")
def test_what_has_come_so_far_can_be_looked_at_and_only_the_end_is_parsed_strictly() -> None:
    b = builder()

    b.add(Delta("toolCall", 0, '{"v": ', "c1", "echo"))
    so_far = b.content("broken")
    b.add(Delta("toolCall", 0, "1}"))

    assert (so_far, b.content("finished")) == ((), (ToolCall("c1", "echo", {"v": 1}),))


@pytest.mark.covers("K43")
def test_arguments_that_cannot_be_parsed_are_kept_as_text() -> None:
    b = builder()

    b.add(Delta("toolCall", 0, '{"v": 1} trailing', "c1", "echo"))

    assert b.content("finished") == (ToolCall("c1", "echo", None, '{"v": 1} trailing'),)


def test_what_the_provider_wants_back_stays_with_its_block() -> None:
    b = builder()

    b.add(Delta("thinking", 0, "Hm"))
    b.add_data(ThinkingData(0, signature="s", origin="wire"))
    b.add_data(ThinkingData(0, data={"id": "x"}))
    b.add(Delta("toolCall", 1, "{}", "c1", "echo"))
    b.add_data(ToolExtra(1, {"sig": "y"}))
    b.add_data(ToolExtra(5, {"sig": "nobody"}))
    b.add_data(ThinkingData(2, data={"redacted": True}))

    assert b.content("finished") == (
        ThinkingBlock("Hm", "s", {"id": "x"}, "wire"),
        ToolCall("c1", "echo", {}, None, {"sig": "y"}),
        ThinkingBlock("", None, {"redacted": True}),
    )


@pytest.mark.covers("L6")
@pytest.mark.parametrize(
    ("deltas", "visible", "text_visible"),
    [
        ([], False, False),
        ([Delta("text", 0, "")], False, False),
        ([Delta("thinking", 0, "Hm")], True, False),
        ([Delta("toolCall", 0, "", "c1", "echo")], True, False),
        ([Delta("thinking", 0, "Hm"), Delta("text", 1, "A")], True, True),
    ],
)
def test_visible_is_what_an_update_was_made_of(
    deltas: list[Delta], *, visible: bool, text_visible: bool
) -> None:
    b = builder()

    for delta in deltas:
        b.add(delta)

    assert (b.visible, b.text_visible) == (visible, text_visible)
