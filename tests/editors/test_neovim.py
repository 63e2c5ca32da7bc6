"""The main job in a real Neovim: its own LSP client, no plugin, keys as a user types them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from support.neovim import Neovim, neovim
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

READ: Turn = {"text": "I read it.", "calls": [call("c1", "read_file", path="a.py")]}
EDIT: Turn = {
    "calls": [call("c2", "edit_file", path="a.py", edits=[{"old_text": "x = 1", "new_text": "x = 2"}])]
}
WAIT: Turn = {"calls": [call("c3", "bash", command="cat door")]}
DONE: Turn = {"text": "Done."}


AtDesk: TypeAlias = "Callable[..., Desk]"


class Desk:
    """A project with one file, its chat, and the editor they are open in."""

    def __init__(self, nvim: Neovim, project: Path) -> None:
        self.nvim = nvim
        self.source = project / "a.py"
        self.chat = project / ".pilothouse" / "chat.md"

    def begin(self) -> None:
        """An unsaved line in the file, and the chat in the window."""
        self.nvim.edit(self.source)
        self.nvim.keys("Go# mine<Esc>")
        self.nvim.act("Pilothouse: Open the chat")
        self.nvim.until_attached(self.chat)

    def send(self, text: str) -> None:
        self.nvim.keys(f"Go{text}<Esc>")
        self.nvim.act("Pilothouse: Send")

    def allow(self, what: str) -> None:
        """By the code action, once the question stands in the chat."""
        self.nvim.until_text(f"**May I? {what}**")
        self.nvim.act(f"Pilothouse: Allow: {what}")


@pytest.fixture
def at_desk(tmp_path: Path) -> Iterator[AtDesk]:
    """Begins with a model that plays these turns."""
    with ExitStack() as open_editors:

        def begin(*turns: Turn, dialog: str = "auto") -> Desk:
            script, project = tmp_path / "script.json", tmp_path / "project"
            script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
            (project / ".git").mkdir(parents=True)
            (project / "a.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
            os.mkfifo(project / "door")
            variables = {
                "PILOTHOUSE_MODEL": f"scripted/{script}",
                "PILOTHOUSE_SET_APPROVALS_DIALOG": dialog,
            }
            nvim = open_editors.enter_context(neovim(project, home=tmp_path / "home", variables=variables))
            desk = Desk(nvim, project)
            desk.begin()
            return desk

        yield begin


@pytest.mark.covers("R001")
def test_an_edit_joins_unsaved_lines_and_one_undo_takes_just_it_back(at_desk: AtDesk) -> None:
    desk = at_desk(READ, EDIT, DONE)
    desk.send("Set x to 2.")
    desk.allow("Edit a.py")
    desk.nvim.until_text("Done.")
    desk.nvim.edit(desk.source)
    edited, on_disk = desk.nvim.text(), desk.source.read_text(encoding="utf-8")
    desk.nvim.keys("u")

    assert (edited, on_disk) == ("x = 2\ny = 2\n# mine\n", "x = 1\ny = 2\n")
    assert desk.nvim.text() == "x = 1\ny = 2\n# mine\n"


def test_the_chat_reads_as_a_conversation(at_desk: AtDesk) -> None:
    desk = at_desk(READ, EDIT, DONE)
    desk.send("Set x to 2.")
    desk.allow("Edit a.py")
    desk.nvim.until_text("Done.")
    model = desk.nvim.text().split("*scripted/")[1].split("*")[0]

    assert desk.nvim.text().replace(model, "model") == (
        "# Pilothouse\n\n"
        'Write below the last "## You", then run the code action "Pilothouse: Send" here.\n'
        "Or end the message with a line that reads /send, and save.\n\n"
        "## You\n\nSet x to 2.\n\n"
        "## Pilothouse\n\n*scripted/model*\n\nI read it.\n\n"
        "<details><summary>✓ Read a.py</summary></details>\n\n"
        "**May I? Edit a.py** Run the code action Allow or Reject, here or in any other file.\n\n"
        "<details><summary>The whole change of a.py</summary>\n\n"
        "```diff\n-x = 1\n+x = 2\n y = 2\n # mine\n```\n\n</details>\n\n"
        "*Allowed.*\n\n"
        "<details><summary>✓ Edit a.py (+1 −1)</summary></details>\n\n"
        "Done.\n\n"
        "## You\n\n"
    )


@pytest.mark.covers("R281")
@pytest.mark.parametrize("answer", ["1<CR>", "<CR>", "<Esc>"])
def test_without_a_yes_nothing_is_changed_and_the_run_goes_on(at_desk: AtDesk, answer: str) -> None:
    desk = at_desk(READ, EDIT, DONE, dialog="quiet")
    desk.send("Set x to 2.")
    desk.nvim.until_prompt()
    desk.nvim.keys(answer)
    desk.nvim.until_text("Done.")

    assert desk.nvim.text(desk.source) == "x = 1\ny = 2\n# mine\n"
    assert "*Rejected" in desk.nvim.text()


def test_a_running_command_is_stopped_from_the_chat(at_desk: AtDesk) -> None:
    desk = at_desk(WAIT, DONE)
    desk.send("Run it.")
    desk.allow("Run cat door")
    desk.nvim.until_text("*Allowed.*")
    offered = desk.nvim.actions()
    desk.nvim.act("Pilothouse: Stop")
    desk.nvim.until_text("*Stopped.*")

    assert offered == ["Pilothouse: Stop"]
    assert "■ Run cat door: aborted" in desk.nvim.text()


def test_what_is_typed_while_the_agent_writes_is_kept_and_steers(at_desk: AtDesk) -> None:
    desk = at_desk(WAIT, DONE)
    desk.send("Run it.")
    desk.allow("Run cat door")
    desk.nvim.until_text("*Allowed.*")
    desk.nvim.keys("GoAnd then")
    desk.nvim.keys(" rest.<Esc>")
    desk.nvim.act("Pilothouse: Steer: tell the agent now")
    desk.nvim.until_text("And then rest.\n\n## You")
    desk.nvim.act("Pilothouse: Stop")
    desk.nvim.until_text("The model has not seen this; send it again:*\n\n> And then rest.")


def test_saving_sends_a_message_that_asks_for_it(at_desk: AtDesk) -> None:
    desk = at_desk(DONE)
    desk.nvim.keys("GoHello.<CR>/send<Esc>:w<CR>")
    desk.nvim.until_text("Done.")

    assert "## You\n\nHello.\n\n## Pilothouse\n" in desk.nvim.text()
    assert "/send\n\n## Pil" not in desk.nvim.text()


@pytest.mark.covers("R288")
def test_a_command_that_fails_shows_its_sentence_and_no_number(at_desk: AtDesk) -> None:
    desk = at_desk(DONE)
    desk.nvim.lua("vim.lsp.get_clients()[1]:exec_cmd({ title = 'Undo', command = 'pilothouse.undoRun' })")
    desk.nvim.until("vim.fn.execute('messages'):find('Nothing has been sent')")
    shown = desk.nvim.lua("return vim.fn.execute('messages')").splitlines()[-1]

    assert shown == "LSP[pilothouse] Nothing has been sent in this chat yet."
