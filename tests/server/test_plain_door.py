"""Commands and the chat document of an editor without a plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_server.protocol import models as protocol
from pilothouse_server.wire import command_names
from support.plain_work import DONE, EDIT, WAIT, AtWork
from support.raw_client import RawClient, request

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]


def test_commands_are_told_to_editors_without_a_plugin_only(client: RawClient, at_work: AtWork) -> None:
    plain = at_work().editor.answer["capabilities"]
    with_plugin = client.initialize(options={})["capabilities"]

    assert plain["executeCommandProvider"] == {"commands": list(command_names.ALL)}
    assert "codeActionProvider" in plain
    assert not {"executeCommandProvider", "codeActionProvider"} & set(with_plugin)


NOT_ONE_OBJECT = "arguments: pilothouse.prompt takes one object or nothing"
MISTAKES: list[tuple[str, list[Any], str]] = [
    ("pilothouse.prompt", [{}], 'text: nothing is written below the last "## You" of the chat document'),
    ("pilothouse.prompt", [{"text": "  "}], "text: the message is empty"),
    (
        "pilothouse.prompt",
        [{"text": "x"}, {}],
        NOT_ONE_OBJECT,
    ),
    ("pilothouse.prompt", ["x"], NOT_ONE_OBJECT),
    ("pilothouse.prompt", [{"text": "x", "sessionId": "s"}], "There is no session 's' in this server."),
    ("pilothouse.approve", [], "No such question is open; it may have been answered already."),
    ("pilothouse.deny", [[]], "No such question is open; it may have been answered already."),
    ("pilothouse.undoRun", [], "Nothing has been sent in this chat yet."),
]


@pytest.mark.parametrize(("command", "arguments", "error"), MISTAKES)
def test_what_cannot_be_done_is_said(at_work: AtWork, command: str, arguments: list[Any], error: str) -> None:
    assert at_work().run(command, *arguments)["error"]["message"] == error


def test_an_unknown_command_is_told_which_there_are(at_work: AtWork) -> None:
    said = at_work().run("pilothouse.dance")["error"]["message"]

    assert said.startswith("command: there is no command 'pilothouse.dance'; there are pilothouse.prompt, ")


def test_a_prompt_answers_with_its_run_and_the_chat_is_kept_on_disk(at_work: AtWork) -> None:
    work = at_work(EDIT, DONE)
    started = work.run("pilothouse.prompt", {"text": "Write it."})["result"]
    work.until_on_disk("Done.\n\n## You\n\n")

    assert sorted(started) == ["runId", "sessionId"]
    assert work.editor.objections == []


def test_the_chat_that_somebody_opens_has_the_cursor(at_work: AtWork) -> None:
    work = at_work(DONE, name="vscode")
    work.run("pilothouse.openChat")
    [shown] = [each["params"] for each in work.client.seen if each.get("method") == "window/showDocument"]

    assert shown == {"uri": path_to_uri(str(work.chat)), "takeFocus": True}


def test_a_second_prompt_is_refused_while_the_agent_is_at_work(at_work: AtWork) -> None:
    work = at_work(WAIT)
    work.run("pilothouse.prompt", {"text": "Run it."})

    assert work.run("pilothouse.prompt", {"text": "More."})["error"] == {
        "code": protocol.BUSY.code,
        "message": "The agent is at work. Steer it or stop it, or send this as a follow-up.",
    }


def test_commands_of_one_packet_take_effect_in_their_order(at_work: AtWork) -> None:
    work = at_work(WAIT)
    prompt, steer, follow_up = command_names.PROMPT, command_names.STEER, command_names.FOLLOW_UP
    steps = [(prompt, "Run it."), (steer, "Faster."), (follow_up, "Then.")]
    work.client.send(
        *(
            request(command, "workspace/executeCommand", command=command, arguments=[{"text": text}])
            for command, text in steps
        ),
        request("abort", "workspace/executeCommand", command="pilothouse.abort"),
    )
    prompted, steered, queued = (work.client.answer(command)["result"] for command, _ in steps)
    aborted = work.client.answer("abort")["result"]

    assert [each["runId"] for each in (steered, queued, aborted)] == [prompted["runId"]] * 3
    assert [each["delivery"] for each in (steered, queued)] == ["steered", "queued"]


@pytest.mark.covers("R079")
def test_a_command_answers_an_open_dialog_which_then_closes(at_work: AtWork) -> None:
    work = at_work(EDIT, DONE, mode="ask")
    work.run("pilothouse.prompt", {"text": "Write it."})
    dialog = work.editor.question()
    work.run("pilothouse.approve")
    cancelled = work.client.until(method="$/cancelRequest")["params"]

    assert cancelled == {"id": dialog["id"]}


def test_the_dialog_shows_the_beginning_of_a_change_and_the_chat_all_of_it(at_work: AtWork) -> None:
    work = at_work(EDIT, DONE, mode="ask")
    work.open_chat()
    work.run("pilothouse.prompt", {"text": "Write it."})
    message = work.editor.question()["params"]["message"]
    work.editor.until(lambda: "May I?" in work.editor.text(work.chat))

    assert message.splitlines()[-3:] == [
        "… 21 more lines",
        "Allow for this file: any edit of new.txt",
        "Allow for this session: any edit of files in the workspace",
    ]
    assert all(f"\n+{i}\n" in work.editor.text(work.chat) for i in range(40))


@pytest.mark.covers("R080")
def test_a_rejection_reaches_the_model_with_its_reason_and_the_run_goes_on(at_work: AtWork) -> None:
    work = at_work(EDIT, DONE, mode="ask")
    work.run("pilothouse.prompt", {"text": "Write it."})
    work.editor.question()
    work.run("pilothouse.deny", {"reason": "not in this folder"})
    work.until_on_disk("Done.")

    assert "not in this folder" in work.seen_by_model(1)


def test_a_rejection_that_says_so_stops_the_run(at_work: AtWork) -> None:
    work = at_work(EDIT, DONE, mode="ask")
    work.run("pilothouse.prompt", {"text": "Write it."})
    work.editor.question()
    work.run("pilothouse.deny", {"stop": True})
    work.until_on_disk("*Stopped.*")

    assert len(work.requests.read_text(encoding="utf-8").splitlines()) == 1


def test_saving_with_a_last_line_that_says_send_steers_a_run(at_work: AtWork) -> None:
    work = at_work(WAIT)
    work.open_chat()
    work.editor.type(work.chat, "Run it.\n/send\n")
    work.editor.save(work.chat)
    work.editor.until(lambda: "## Pilothouse" in work.editor.text(work.chat))
    work.editor.type(work.chat, "Not so.\n")
    work.editor.save(work.chat)
    before = work.editor.text(work.chat)
    work.editor.type(work.chat, "/send")
    work.editor.save(work.chat)
    work.editor.until(lambda: "Not so.\n\n## You" in work.editor.text(work.chat))

    assert before.endswith("## You\n\nNot so.\n")
    assert "/send\n\n" not in work.editor.text(work.chat)


def test_after_a_restart_the_last_run_of_the_chat_can_still_be_undone(
    at_work: AtWork, tmp_path: Path
) -> None:
    first = at_work(EDIT, DONE)
    first.run("pilothouse.prompt", {"text": "Write it."})
    first.until_on_disk("Done.\n\n## You")
    first.client.close_input()
    first.client.ended()
    written = (tmp_path / "project" / "new.txt").exists()

    again = at_work(DONE)
    again.editor.open(again.chat)
    again.editor.until_offered(again.chat, "Pilothouse: Undo run")
    undone = again.run("pilothouse.undoRun")["result"]
    twice = again.run("pilothouse.undoRun")["result"]
    again.editor.until(lambda: "*There is nothing to undo.*" in again.editor.text(again.chat))

    assert written
    assert [(Path(file["path"]).name, file["action"]) for file in undone["files"]] == [("new.txt", "deleted")]
    assert not (tmp_path / "project" / "new.txt").exists()
    assert (twice["files"], "*Undone:*" in again.editor.text(again.chat)) == ([], True)


def test_a_chat_place_that_is_a_link_is_refused(at_work: AtWork, tmp_path: Path) -> None:
    work = at_work(DONE)
    work.chat.parent.mkdir()
    work.chat.symlink_to(tmp_path / "precious")

    assert work.run("pilothouse.openChat")["error"]["message"] == (
        ".pilothouse/chat.md is a link or lies behind one. Remove the link to chat here."
    )
    assert not (tmp_path / "precious").exists()


def test_a_new_chat_says_that_the_model_does_not_know_the_old_one(at_work: AtWork) -> None:
    work = at_work(DONE, DONE)
    work.open_chat()
    first = work.run("pilothouse.prompt", {"text": "One."})["result"]
    work.until_ended()
    work.run("pilothouse.newChat")
    second = work.run("pilothouse.prompt", {"text": "Two."})["result"]
    work.editor.until(lambda: work.editor.text(work.chat).count("Done.") == 2)

    assert first["sessionId"] != second["sessionId"]
    assert "One." not in work.seen_by_model(1)
    assert "Done.\n\n*A new conversation: the model does not see what is above.*\n\n## You\n\nTwo." in (
        work.editor.text(work.chat)
    )


def test_a_run_is_undone_from_the_chat(at_work: AtWork) -> None:
    work = at_work(EDIT, DONE)
    work.open_chat()
    work.run("pilothouse.prompt", {"text": "Write it."})
    work.until_ended()
    made = (work.chat.parent.parent / "new.txt").exists()
    (undo,) = (each for each in work.editor.actions(work.chat) if each["title"] == "Pilothouse: Undo run")
    work.run(undo["command"]["command"], *undo["command"]["arguments"])
    work.editor.until(lambda: "*Undone:*" in work.editor.text(work.chat))

    assert (made, (work.chat.parent.parent / "new.txt").exists()) == (True, False)
