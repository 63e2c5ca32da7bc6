"""The chat document while the agent is at work: alive, in order, and never in the way."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.wire import command_names
from support.plain_work import DONE, WAIT, AtWork, Work
from support.wire_models import Turn

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

SLOWLY: Turn = {"text": [f"word{number} " for number in range(40)], "delayMs": 100}
ALIVE = "*⋯ "


def chat(work: Work) -> str:
    return work.editor.text(work.chat)


def begin(work: Work, text: str = "Go.") -> None:
    work.open_chat()
    work.editor.type(work.chat, f"{text}\n/send\n")
    work.editor.save(work.chat)


def shown_until(work: Work, part: str) -> list[str]:
    """What the chat held after each message of the server."""
    texts: list[str] = []

    def came() -> bool:
        texts.append(chat(work))
        return part in texts[-1]

    work.editor.until(came)
    return texts


def let_on(work: Work) -> None:
    """What WAIT waits for."""
    with (work.chat.parents[1] / "door").open("wb", buffering=0) as door:
        door.write(b"x\n")


@pytest.mark.covers("R285")
@pytest.mark.parametrize("opened", [True, False])
def test_an_answer_appears_while_it_is_written_above_a_line_that_shows_life(
    at_work: AtWork, opened: bool
) -> None:
    work = at_work(SLOWLY)
    texts: list[str] = []
    if opened:
        begin(work)
        texts += shown_until(work, "word39\n")
    else:
        work.run(command_names.PROMPT, {"text": "Go."})
        work.until_on_disk("word3")
        texts.append(work.chat.read_text(encoding="utf-8"))
        work.until_on_disk("word39\n\n## You")
    partly = [text for text in dict.fromkeys(texts) if "word3" in text and "word39" not in text]

    assert partly
    assert all(text.count("word1 ") == 1 and "*⋯ Working*\n\n## You\n\n" in text for text in partly)


@pytest.mark.covers("R285")
def test_the_end_of_a_run_leaves_the_whole_answer_once_and_no_sign_of_life(at_work: AtWork) -> None:
    work = at_work(SLOWLY)
    begin(work)
    work.until_ended()
    work.editor.until(lambda: ALIVE not in chat(work))

    assert " ".join(f"word{number}" for number in range(40)) + "\n\n## You\n\n" in chat(work)
    assert (chat(work).count("word7 "), chat(work).count("## Pilothouse\n")) == (1, 1)


@pytest.mark.covers("R285")
def test_the_line_of_life_says_what_is_done(at_work: AtWork) -> None:
    work = at_work(WAIT, DONE)
    begin(work)
    work.editor.until(lambda: "*⋯ Run cat door*\n\n## You" in chat(work))
    let_on(work)
    work.editor.until(lambda: "Done.\n\n## You" in chat(work))

    assert ALIVE not in chat(work)


@pytest.mark.covers("R285")
def test_a_queued_message_stands_where_the_model_reads_it(at_work: AtWork) -> None:
    work = at_work(WAIT, DONE, DONE)
    begin(work)
    work.editor.until(lambda: "Run cat door" in chat(work))
    work.editor.type(work.chat, "And *this*.\n/send\n")
    work.editor.save(work.chat)
    work.run(command_names.FOLLOW_UP, {"text": "Then that."})
    work.editor.until(lambda: "Then that." in chat(work))
    queued = chat(work)
    let_on(work)
    work.editor.until(lambda: chat(work).count("Done.") == 2 and ALIVE not in chat(work))

    assert queued.endswith(
        "*⋯ Run cat door*\n\n> *Not read yet:* And *this*.\n\n> *Not read yet:* Then that.\n\n## You\n\n"
    )
    assert chat(work).partition("Run cat door")[2].partition("</details>\n\n")[2] == (
        "## You\n\nAnd *this*.\n\n## Pilothouse\n\nDone.\n\n"
        "## You\n\nThen that.\n\n## Pilothouse\n\nDone.\n\n## You\n\n"
    )


@pytest.mark.covers("R285")
def test_what_the_user_writes_into_the_answer_while_it_grows_is_kept(at_work: AtWork) -> None:
    work = at_work(SLOWLY)
    begin(work)
    work.editor.until(lambda: "word3 " in chat(work))
    work.editor.retype(
        work.chat, chat(work).replace("word1 ", "word1 MINE ").replace("*⋯ Working*", "MY NOTE")
    )
    work.editor.type(work.chat, "my draft")
    work.editor.until(lambda: "word39" in chat(work) and ALIVE not in chat(work))

    assert all(mine in chat(work) for mine in ("word1 MINE ", "MY NOTE"))
    assert chat(work).endswith("## You\n\nmy draft")
    assert chat(work).count("word39") == 1


@pytest.mark.covers("R285")
def test_an_editor_that_refuses_to_change_the_chat_is_asked_again_without_a_word(at_work: AtWork) -> None:
    work = at_work(DONE)
    work.open_chat()
    work.editor.refusing = True
    work.run(command_names.PROMPT, {"text": "Go."})
    work.editor.until(lambda: work.editor.refused >= 3)
    work.editor.refusing = False
    work.editor.until(lambda: "Done." in chat(work))

    assert (work.editor.messages, chat(work).count("Done.")) == ([], 1)


@pytest.mark.covers("R285")
@pytest.mark.parametrize("name", ["vscode", "neovim", "eglot"])
def test_the_view_goes_to_the_end_when_a_draft_is_sent(at_work: AtWork, name: str) -> None:
    work = at_work(DONE, name=name)
    begin(work)
    before = len(work.editor.shown)
    work.editor.until(lambda: len(work.editor.shown) > before)
    line = chat(work).count("\n")
    selection = work.editor.selections[before]
    assert selection is not None

    assert work.editor.shown[before:][:1] == [work.chat.as_uri()]
    assert selection["start"] == selection["end"]
    assert selection["end"]["line"] <= line


@pytest.mark.covers("R285")
@pytest.mark.parametrize(("name", "follows"), [("vscode", True), ("neovim", False)])
def test_the_view_follows_the_answer_where_the_cursor_is_known_to_be_at_the_end(
    at_work: AtWork, name: str, follows: bool
) -> None:
    work = at_work(SLOWLY, name=name)
    begin(work)
    work.editor.until(lambda: "word3 " in chat(work))
    work.editor.actions(work.chat, line=chat(work).count("\n"))
    before = len(work.editor.shown)
    work.editor.until(lambda: ALIVE not in chat(work))

    assert (len(work.editor.shown) > before) == follows


@pytest.mark.covers("R285")
def test_the_view_of_somebody_who_reads_above_or_elsewhere_stays(at_work: AtWork, tmp_path: Path) -> None:
    work = at_work(SLOWLY, name="vscode")
    begin(work)
    work.editor.until(lambda: "word3 " in chat(work))
    work.editor.actions(work.chat, line=0)
    above = len(work.editor.shown)
    work.editor.until(lambda: "word20 " in chat(work))
    other = tmp_path / "project" / "a.py"
    other.write_text("x\n", encoding="utf-8")
    work.editor.open(other)
    work.editor.actions(other, line=1)
    work.editor.until(lambda: ALIVE not in chat(work))

    assert len(work.editor.shown) == above


@pytest.mark.covers("R285")
def test_two_servers_in_one_folder_write_two_chats(at_work: AtWork) -> None:
    first, second = at_work(DONE), at_work(DONE)
    begin(first)
    first.editor.until(lambda: "Done." in chat(first))
    shown = second.run(command_names.OPEN_CHAT)["result"]["uri"]
    second.run(command_names.PROMPT, {"text": "Other."})
    second.chat = second.chat.with_name("chat-2.md")
    second.until_on_disk("Other.\n\n## Pilothouse")
    second.until_on_disk("Done.\n\n## You")

    assert shown == second.chat.as_uri()
    assert "Other." not in chat(first)
    assert "Go." not in second.chat.read_text(encoding="utf-8")


@pytest.mark.covers("R285")
def test_a_draft_in_the_chat_of_another_server_is_not_sent_and_its_user_told(at_work: AtWork) -> None:
    first, second = at_work(DONE), at_work(DONE, name="neovim")
    begin(first)
    first.editor.until(lambda: "Done." in chat(first))
    second.editor.open(second.chat)
    second.editor.type(second.chat, "Mine.\n/send\n")
    second.editor.save(second.chat)
    second.editor.until(lambda: bool(second.editor.messages))

    assert second.editor.messages == [
        "Pilothouse: Another server holds this chat; yours is .pilothouse/chat-2.md."
    ]


@pytest.mark.covers("R285")
@pytest.mark.parametrize("opened", [True, False])
def test_a_run_that_died_with_its_server_is_marked_at_the_next_start(at_work: AtWork, opened: bool) -> None:
    first = at_work(WAIT)
    first.run(command_names.PROMPT, {"text": "Go."})
    first.until_on_disk("*⋯ Run cat door*")
    first.client.signal(signal.SIGKILL)
    first.client.ended()
    again = at_work(DONE)
    if opened:
        again.editor.open(again.chat)
        again.editor.until(lambda: "*The server ended while this run was at work.*" in chat(again))
    again.until_on_disk("*The server ended" if not opened else "## You")
    text = chat(again) if opened else again.chat.read_text(encoding="utf-8")

    assert text.endswith("*The server ended while this run was at work.*\n\n## You\n\n")
    assert ALIVE not in text
