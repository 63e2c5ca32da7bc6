"""A draft of the chat is sent once, whenever and however often it is saved."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest

from pilothouse_server.wire import command_names
from support.nursery import Nursery
from support.plain_work import DONE, WAIT, AtWork, Work
from support.raw_client import notification, request
from support.wire_models import Turn

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

BLANK = "# Pilothouse\n\n## You\n\n"


def heard(work: Work) -> list[str]:
    """What the user says in the last request that the model got."""
    work.until_heard()
    last = json.loads(work.requests.read_text(encoding="utf-8").splitlines()[-1])
    texts = [
        "".join(b.get("text", "") for b in m["content"]) for m in last["messages"] if m["role"] == "user"
    ]
    return [text for text in texts if not text.startswith("[What the user has")]


def chat_open(work: Work, draft: str) -> None:
    work.chat.parent.mkdir(exist_ok=True)
    work.chat.write_text(BLANK, encoding="utf-8")
    work.editor.open(work.chat)
    work.editor.type(work.chat, draft)


@pytest.mark.covers("R203")
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("draft", ["Fix it.\n/send", "two\n\nlines\n/send\n", "größer 😀\r\n/send"])
def test_a_draft_saved_in_the_packet_of_the_handshake_is_sent(
    servers: Nursery, at_work: AtWork, draft: str, closed: bool
) -> None:
    work = at_work(DONE, greet=False)
    work.chat.parent.mkdir()
    work.chat.write_text(BLANK + draft, encoding="utf-8", newline="")
    uri, project = work.chat.as_uri(), work.chat.parents[1]
    item = {"uri": uri, "languageId": "markdown", "version": 0, "text": BLANK + draft}
    work.client.send(
        request("initialize", "initialize", capabilities={}, rootUri=project.as_uri(), processId=None),
        notification("initialized"),
        notification("textDocument/didOpen", textDocument=item),
        notification("textDocument/didSave", textDocument={"uri": uri}),
        *([notification("textDocument/didClose", textDocument={"uri": uri})] if closed else []),
    )
    work.until_asked()

    assert heard(work) == [draft.replace("\r\n", "\n").rpartition("\n/send")[0]]


@pytest.mark.covers("R203")
def test_a_saved_draft_keeps_its_place_among_what_comes_behind_it(at_work: AtWork) -> None:
    work = at_work(WAIT, DONE, greet=False)
    project = work.chat.parents[1]
    uri, text = work.chat.as_uri(), f"{BLANK}First.\n/send"
    item = {"uri": uri, "languageId": "markdown", "version": 0, "text": text}
    then: Json = {"command": command_names.STEER, "arguments": [{"text": "Second."}]}
    work.client.send(
        request("initialize", "initialize", capabilities={}, rootUri=project.as_uri(), processId=None),
        notification("initialized"),
        notification("textDocument/didOpen", textDocument=item),
        notification("textDocument/didSave", textDocument={"uri": uri}),
        request("steer", "workspace/executeCommand", **then),
    )

    assert work.client.answer("steer")["result"]["delivery"] == "steered"
    work.until_asked()
    # Whether the steering is there in time for the first request is for the disk to say.
    assert heard(work) in (["First."], ["First.", "Second."])


@pytest.mark.covers("R203")
@pytest.mark.parametrize("text", [f"{BLANK}Not yet.\n", f"{BLANK}Old.\n/send"])
def test_a_chat_that_is_only_opened_sends_nothing(at_work: AtWork, text: str) -> None:
    work = at_work(DONE)
    work.chat.parent.mkdir()
    work.chat.write_text(text, encoding="utf-8")
    work.editor.open(work.chat)
    work.editor.until_offered(work.chat, "Pilothouse: Send")

    assert not work.requests.exists()


@pytest.mark.covers("R204")
@pytest.mark.parametrize("saves", [2, 3])
@pytest.mark.parametrize("how", ["refuses", "is slow"])
def test_a_draft_that_is_saved_again_before_it_is_cleared_is_sent_once(
    at_work: AtWork, how: str, saves: int
) -> None:
    work = at_work(WAIT, DONE)
    chat_open(work, "Fix it.\n/send\n")
    work.editor.refusing, work.editor.holding = how == "refuses", how == "is slow"
    for _ in range(saves):
        work.editor.save(work.chat)
    work.editor.until(lambda: work.editor.refused + work.editor.held > 0)
    work.editor.save(work.chat)
    work.editor.until_offered(work.chat, "Pilothouse: Stop")
    offered = [each["title"] for each in work.editor.actions(work.chat)]
    work.editor.refusing = False
    work.editor.release()
    work.editor.type(work.chat, " ")
    work.editor.until(lambda: "## Pilothouse" in work.editor.text(work.chat))
    work.run(command_names.ABORT)
    work.editor.until(lambda: "*Stopped.*" in work.editor.text(work.chat))

    assert offered == ["Pilothouse: Stop"]
    assert (heard(work), work.editor.messages) == (["Fix it."], [])
    assert "send it again" not in work.editor.text(work.chat)


@pytest.mark.covers("R204")
def test_sending_a_draft_twice_by_command_gives_the_same_run(at_work: AtWork) -> None:
    work = at_work(WAIT, DONE)
    chat_open(work, "Fix it.")
    work.editor.holding = True
    first = work.run(command_names.PROMPT)
    second = work.run(command_names.PROMPT)
    steered = work.run(command_names.STEER)["error"]["message"]

    assert (second["result"], heard(work)) == (first["result"], ["Fix it."])
    assert steered.startswith("text: this draft has been sent")


AGAIN: list[tuple[str, str]] = [
    ("Fix it all.\n/send\n", "Fix it all."),
    ("Fix it.\nAnd the rest.\n/send\n", "And the rest."),
    ("Something else.\n/send\n", "Something else."),
]


@pytest.mark.covers("R204")
@pytest.mark.parametrize(("draft", "message"), AGAIN)
def test_another_draft_is_sent_even_while_the_first_one_still_waits_to_be_cleared(
    at_work: AtWork, draft: str, message: str
) -> None:
    work = at_work(WAIT, DONE)
    chat_open(work, "Fix it.\n/send\n")
    work.editor.refusing = True
    work.editor.save(work.chat)
    work.editor.until(lambda: work.editor.refused > 0)
    work.editor.retype(work.chat, BLANK + draft)
    work.editor.save(work.chat)
    work.editor.refusing = False
    work.editor.type(work.chat, "\n")
    work.editor.until(lambda: f"*Not read yet:* {message}" in work.editor.text(work.chat))

    assert "Fix it.\n\n## Pilothouse" in work.editor.text(work.chat)


@pytest.mark.covers("R204")
def test_the_same_words_can_be_sent_again_once_the_draft_was_another(at_work: AtWork) -> None:
    turns: list[Turn] = [DONE, DONE]
    work = at_work(*turns)
    chat_open(work, "Go on.\n/send\n")
    work.editor.save(work.chat)
    work.editor.until(lambda: "Done." in work.editor.text(work.chat))
    work.editor.until_offered(work.chat, "Pilothouse: New chat")
    work.editor.type(work.chat, "Go on.\n/send\n")
    work.editor.save(work.chat)
    work.editor.until(lambda: work.editor.text(work.chat).count("Done.") == 2)

    assert heard(work) == ["Go on.", "Go on."]
