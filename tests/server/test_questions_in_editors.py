"""Questions in editors without a plugin: no key that is meant for a text answers them, and none is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.plain_work import DONE, AtWork, Work
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

MESSAGE = "window/showMessageRequest"
DANGER: Turn = {"calls": [call("c1", "bash", command="touch DANGER")]}
ASK_THEM: Turn = {"calls": [call("c1", "ask_user", question="Which?", options=["1", "2"])]}


def asked(work: Work) -> list[Json]:
    """The messages that wait for an answer."""
    return [seen for seen in work.client.seen if seen.get("method") == MESSAGE]


def opened(work: Work, name: str = "a.py") -> Path:
    path = work.chat.parents[1] / name
    path.write_text("x = 1\n", encoding="utf-8")
    work.editor.open(path)
    return path


def danger(work: Work) -> bool:
    return (work.chat.parents[1] / "DANGER").exists()


@pytest.mark.covers("R281")
@pytest.mark.parametrize(
    ("name", "dialog"),
    [("neovim", "auto"), ("helix", "auto"), ("kate", "auto"), ("vscode", "never"), ("eglot", "never")],
)
def test_a_question_is_answered_by_a_code_action_in_any_file_and_never_by_a_message(
    at_work: AtWork, name: str, dialog: str
) -> None:
    work = at_work(DANGER, DONE, mode="ask", name=name, dialog=dialog)
    source = opened(work)
    work.run("pilothouse.prompt", {"text": "Go."})
    work.editor.until_offered(source, "Pilothouse: Allow: Run touch DANGER")
    before = danger(work)
    titles = [each["title"].removeprefix("Pilothouse: ") for each in work.editor.actions(source)]
    work.editor.act(source, "Pilothouse: Allow: Run touch DANGER")
    work.until_on_disk("Done.")

    assert titles == [
        "Reject: Run touch DANGER",
        "Reject and stop: Run touch DANGER",
        "Allow: Run touch DANGER",
        "Allow for this session: exactly this command: touch DANGER",
        "Open the chat",
    ]
    assert (before, danger(work), asked(work)) == (False, True, [])


@pytest.mark.covers("R281")
@pytest.mark.parametrize("where", ["unknown", "doubtful", "untitled"])
def test_a_question_is_answered_in_documents_that_nothing_is_known_of(at_work: AtWork, where: str) -> None:
    work = at_work(DANGER, DONE, mode="ask", name="neovim", dialog="auto")
    source = opened(work)
    uri = {"unknown": "file:///elsewhere.py", "untitled": "untitled:1"}.get(where, source.as_uri())
    place = {"line": 0, "character": 0}
    if where == "doubtful":
        document = {"uri": uri, "version": 1}
        work.client.notify("textDocument/didChange", textDocument=document, contentChanges=[{"range": 7}])
    work.run("pilothouse.prompt", {"text": "Go."})
    work.editor.until_offered(source, "Pilothouse: Allow")
    found = work.editor.request(
        "textDocument/codeAction",
        textDocument={"uri": uri},
        range={"start": place, "end": place},
        context={"diagnostics": []},
    )["result"]

    assert "Pilothouse: Allow: Run touch DANGER" in [each["title"] for each in found]


@pytest.mark.covers("R281")
@pytest.mark.parametrize("name", ["neovim", "sublime"])
def test_the_model_asks_no_questions_that_keys_would_answer(at_work: AtWork, name: str) -> None:
    work = at_work(ASK_THEM, DONE, name=name, dialog="auto")
    work.run("pilothouse.prompt", {"text": "Go."})
    work.until_on_disk("Done.")

    assert asked(work) == []
    assert "There is no tool named 'ask_user'." in work.seen_by_model(1)


@pytest.mark.covers("R284")
@pytest.mark.parametrize("closing", ["never", "closed"])
def test_a_question_whose_message_is_gone_in_vscode_still_waits_and_is_answered_elsewhere(
    at_work: AtWork, closing: str
) -> None:
    work = at_work(DANGER, DONE, mode="ask", name="vscode", dialog="auto")
    source = opened(work)
    work.run("pilothouse.prompt", {"text": "Go."})
    question = work.editor.question()
    if closing == "closed":
        work.editor.close_question(question)
    work.editor.act(source, "Pilothouse: Allow: Run touch DANGER")
    work.until_on_disk("Done.")

    assert danger(work)


@pytest.mark.covers("R281", "R284", "R274")
def test_progress_says_that_it_waits_for_the_user_and_for_what(at_work: AtWork) -> None:
    work = at_work(DANGER, DONE, mode="ask", name="neovim", dialog="auto")
    source = opened(work)
    work.run("pilothouse.prompt", {"text": "Go."})
    work.editor.until_offered(source, "Pilothouse: Reject")
    work.editor.until(lambda: any("Waiting" in each for each in work.editor.progress))
    work.editor.act(source, "Pilothouse: Reject: Run")
    work.editor.until(lambda: "completed" in work.editor.progress)

    assert work.editor.progress[-3:] == [
        "Waiting for you: Run touch DANGER?",
        "Rejected: Run touch DANGER",
        "completed",
    ]


PLAIN_FAULTS: list[tuple[str, str, list[Any]]] = [
    ("sublime", "pilothouse.undoRun", []),
    ("vscode", "pilothouse.undoRun", []),
    ("helix", "pilothouse.prompt", ["x"]),
    ("vscode", "pilothouse.steer", [{"text": " "}]),
    ("kate", "pilothouse.dance", []),
    ("neovim", "pilothouse.undoRun", []),
    ("neovim", "pilothouse.prompt", [{"text": 7}]),
]


@pytest.mark.covers("R288")
@pytest.mark.parametrize(("name", "command", "arguments"), PLAIN_FAULTS)
def test_a_command_that_fails_says_a_sentence_and_nothing_around_it(
    at_work: AtWork, name: str, command: str, arguments: list[Any]
) -> None:
    work = at_work(name=name)
    error = work.run(command, *arguments)["error"]
    # Neovim shows the code of every error but this one, so the sentence comes as a message there.
    silent = name == "neovim"

    assert sorted(error) == ["code", "message"]
    assert (error["code"] == -32802, work.editor.messages) == (silent, [error["message"]] if silent else [])
