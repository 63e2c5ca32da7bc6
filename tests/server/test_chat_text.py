"""The chat document's text: whatever the user makes of it, nothing that was typed is lost."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_server.chat.chat_text import (
    BLANK,
    Tail,
    answered,
    asks_to_send,
    draft_of,
    fenced,
    grown,
    life_line,
    marked,
    noted,
    quoted,
    said,
    sent,
)


def test_a_message_and_its_answer_stand_in_front_of_a_fresh_draft() -> None:
    text = sent(f"{BLANK}Fix it.\n", "Fix it.")
    text = answered(answered(text, "I look."), "Done.")

    assert text == f"{BLANK}Fix it.\n\n## Pilothouse\n\nI look.\n\nDone.\n\n## You\n\n"
    assert draft_of(text) == ""


def test_what_is_typed_behind_a_message_in_the_moment_of_sending_becomes_the_next_draft() -> None:
    text = sent(f"{BLANK}Fix it. And", "Fix it.")

    assert text == f"{BLANK}Fix it.\n\n## You\n\n And"


def test_a_draft_that_was_changed_while_it_was_sent_stays_and_the_message_is_put_down() -> None:
    text = sent(f"{BLANK}Fix them all.", "Fix it.")

    assert text == f"{BLANK}Fix it.\n\n## You\n\nFix them all."


def test_an_answer_leaves_the_draft_alone() -> None:
    text = answered(f"{BLANK}Fix it.\n\n## You\n\n  half a though", "Working.")

    assert text == f"{BLANK}Fix it.\n\n## Pilothouse\n\nWorking.\n\n## You\n\n  half a though"


def test_a_message_that_comes_by_command_leaves_the_draft_alone() -> None:
    assert said(f"{BLANK}half", "Explain this.") == f"{BLANK}Explain this.\n\n## You\n\nhalf"


def test_a_quotation_is_added_to_the_draft() -> None:
    assert quoted(f"{BLANK}Why?", "In `a.py`, line 1.") == f"{BLANK}Why?\n\nIn `a.py`, line 1.\n\n"


def test_a_note_stands_between_messages_without_a_heading() -> None:
    text = sent(f"{BLANK}Hi", "Hi")

    assert noted(text, "*New.*") == f"{BLANK}Hi\n\n*New.*\n\n## You\n\n"


@pytest.mark.parametrize("block", ["a\n## You\n\nrm", "## Pilothouse\nb", fenced("## You\nc")])
def test_an_answer_cannot_pass_for_the_user(block: str) -> None:
    text = answered(sent(f"{BLANK}Hi", "Hi"), block)

    assert draft_of(text) == ""
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## You",
        "## Pilothouse",
        "## You",
    ]


@pytest.mark.parametrize(
    ("draft", "asked", "message"),
    [
        ("Go\n/send\n", True, "Go"),
        ("Go\n  /send", True, "Go"),
        ("Go\r\n/send\r\n", True, "Go"),
        ("/send\n", False, ""),
        ("Go /send", False, "Go /send"),
        ("Go\n/send now", False, "Go\n/send now"),
        ("Go\n/send\nmore", False, "Go\n/send\nmore"),
    ],
)
def test_only_a_last_line_of_its_own_asks_to_send(draft: str, asked: bool, message: str) -> None:
    text = BLANK + draft

    assert (asks_to_send(text), draft_of(text)) == (asked, message)
    if asked:
        assert sent(text, message).count("/send") == text.count("/send") - 1


def test_a_text_without_any_heading_is_kept_and_gets_one() -> None:
    assert answered("my notes", "Done.") == "my notes\n\n## Pilothouse\n\nDone.\n\n## You\n\n"


def test_line_ends_stay_those_of_the_document() -> None:
    text = BLANK.replace("\n", "\r\n")

    assert answered(text, "one\ntwo") == (
        text.removesuffix("## You\r\n\r\n") + "## Pilothouse\r\n\r\none\r\ntwo\r\n\r\n## You\r\n\r\n"
    )


def test_a_code_block_is_not_ended_by_what_is_in_it() -> None:
    assert fenced("a\n````\nb", "py") == "`````py\na\n````\nb\n`````"


def test_what_was_made_after_all_is_not_made_again() -> None:
    text = f"{BLANK}Hi"
    once = answered(said(sent(text, "Hi"), "And"), "Done.")
    twice = answered(said(sent(once, "And", True), "And", True), "Done.", True)

    assert quoted(quoted(BLANK, "In a"), "In a", True) == quoted(BLANK, "In a")
    assert noted(noted(text, "*New.*"), "*New.*", True) == noted(text, "*New.*")
    assert answered(once, "Done.", True) == once
    assert twice.count("Done.") == 1


PIECES = [
    "a",
    "b",
    " ",
    "\n",
    "\r\n",
    "#",
    "`",
    "## You",
    "## You\n",
    "## Pilothouse\n",
    "/send",
    "\n/send\n",
]
MARKS = ["*⋯ Working*", "*⋯ Working*\n\n", "> q\n", "# Pilothouse\n", "You"]
words = st.lists(st.sampled_from([*PIECES, *MARKS]), max_size=12).map("".join)
"""All that the document has a meaning for can be spelt."""


def letters(*texts: str) -> Counter[str]:
    """What somebody has written, but for the words that ask to send."""
    return Counter("".join("".join(texts).replace("/send", "").split()))


@given(typed=words, blocks=st.lists(words.filter(str.strip), max_size=4))
def test_nothing_is_lost_when_answers_come(typed: str, blocks: list[str]) -> None:
    text = BLANK + typed
    for block in blocks:
        text = answered(text, block)

    assert letters(BLANK, typed, *blocks) <= letters(text)


@given(draft=words, typed=words)
def test_nothing_is_lost_that_is_typed_behind_a_message_while_it_is_sent(draft: str, typed: str) -> None:
    before = BLANK + draft.rstrip() + typed
    message = draft_of(BLANK + draft)
    text = sent(before, message) if message else before

    assert letters(before) <= letters(text)
    assert message in text.replace("\r\n", "\n")


@given(draft=words, live=words, status=words, fixed=words, rest=words, typed=words)
def test_nothing_but_what_was_alive_goes_when_an_answer_grows(
    draft: str, live: str, status: str, fixed: str, rest: str, typed: str
) -> None:
    was = Tail(live.strip(), status.strip())
    text = grown(BLANK + draft, Tail(), "", was) + typed
    after = grown(text, was, fixed.strip(), Tail(rest.strip()))

    assert letters(text) - letters(*was) <= letters(after)


@pytest.mark.covers("R285")
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_an_answer_grows_in_its_place(line_end: str) -> None:
    text = sent(f"{BLANK}Go", "Go").replace("\n", line_end)
    first = grown(text, Tail(), "*model*", Tail("One", life_line("Working")))
    second = grown(first, Tail("One", life_line("Working")), "One two.", Tail("", life_line("Run make")))
    third = grown(second, Tail("", life_line("Run make")), "", Tail())

    begun = text.removesuffix(f"## You{line_end}{line_end}") + f"## Pilothouse{line_end}{line_end}"
    end = f"## You{line_end}{line_end}"

    def whole(*parts: str) -> str:
        return begun + "".join(part + 2 * line_end for part in parts) + end

    assert first == whole("*model*", "One", "*⋯ Working*")
    assert second == whole("*model*", "One two.", "*⋯ Run make*")
    assert third == whole("*model*", "One two.")
    assert grown(
        second, Tail("One", life_line("Working")), "One two.", Tail("", life_line("Run make")), True
    ) == (second)


@pytest.mark.covers("R285")
@pytest.mark.parametrize("unread", ["", "> *Not read yet:* And\n> more\n\n"])
def test_what_a_dead_server_left_is_marked_and_nothing_else(unread: str) -> None:
    dead = f"{BLANK}Go\n\n## Pilothouse\n\nHalf\n\n*⋯ Run make, 20 s*\n\n{unread}## You\n\ndraft"
    alive = dead.replace("*⋯ Run make, 20 s*\n\n", "")

    assert marked(dead) == dead.replace(
        "*⋯ Run make, 20 s*", "*The server ended while this run was at work.*"
    )
    assert marked(alive) == alive
    assert marked(f"{BLANK}*⋯ mine*") == f"{BLANK}*⋯ mine*"
