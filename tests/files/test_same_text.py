"""Texts that are the same to an editor, and those that are not."""

from __future__ import annotations

from pilothouse_agent.files.same_text import same_but_last_end, same_text


def test_the_end_of_the_last_line_may_differ_and_nothing_else() -> None:
    others = ("a\nb\n", "a\nb\r\n", "a\nb", "a\nb\n\n", "a", "a\r\nb")
    assert [same_but_last_end("a\nb", other) for other in others] == [True, True, True, False, False, False]


def test_an_editor_may_show_a_mark_and_line_ends_in_its_own_way() -> None:
    others = ("a\nb\n", "\ufeffa\r\nb", "a\r\nb\r\n", "a\rb", "a\nb\n\n", "a\n\ufeffb", "a b")
    assert [same_text("a\nb", other) for other in others] == [*(True, True, True), *(False,) * 4]
