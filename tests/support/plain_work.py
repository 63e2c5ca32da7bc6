"""A project in an editor without a plugin, with a scripted model."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from pilothouse_server.wire import command_names
from support.nursery import Nursery
from support.raw_client import LIMIT, RawClient
from support.strict_editor import StrictEditor
from support.wire_models import Turn, call

__all__ = ["DONE", "EDIT", "WAIT", "AtWork", "Work", "works"]

Json: TypeAlias = dict[str, Any]
AtWork: TypeAlias = "Callable[..., Work]"

EDIT: Turn = {
    "calls": [call("c1", "write_file", path="new.txt", content="".join(f"{i}\n" for i in range(40)))]
}
WAIT: Turn = {"calls": [call("c2", "bash", command="cat door")]}
DONE: Turn = {"text": "Done."}


class Work:
    """A project in an editor that never looks at its chat unless it opens it."""

    def __init__(self, client: RawClient, editor: StrictEditor, project: Path) -> None:
        self.client = client
        self.editor = editor
        self.chat = project / ".pilothouse" / "chat.md"
        self.requests = project.parent / "requests"

    def run(self, command: str, *arguments: Any) -> Json:
        """The whole answer."""
        return self.editor.request("workspace/executeCommand", command=command, arguments=list(arguments))

    def until_ended(self) -> None:
        """With the chat open: until its run has ended."""
        self.editor.until_offered(self.chat, "Pilothouse: Undo run")

    def until_on_disk(self, part: str) -> None:
        until = time.monotonic() + LIMIT
        while not self.chat.exists() or part not in self.chat.read_text(encoding="utf-8"):
            assert time.monotonic() < until, f"{part!r} did not come"
            self.editor.request("agent/state")

    def until_asked(self) -> None:
        """Until the model has had a request."""
        until = time.monotonic() + LIMIT
        while not self.requests.exists() or not self.requests.read_text(encoding="utf-8").endswith("\n"):
            assert time.monotonic() < until, "the model was not asked"
            time.sleep(0.01)

    def open_chat(self) -> None:
        self.run(command_names.OPEN_CHAT)
        self.editor.open(self.chat)

    def until_heard(self) -> None:
        """Until the model has got a request."""
        until = time.monotonic() + LIMIT
        while not self.requests.exists() or not self.requests.read_text(encoding="utf-8").endswith("\n"):
            assert time.monotonic() < until, "the model got no request"
            self.editor.request("agent/state")

    def seen_by_model(self, number: int) -> str:
        return self.requests.read_text(encoding="utf-8").splitlines()[number]


@contextmanager
def works(servers: Nursery, folder: Path) -> Generator[AtWork]:
    """Begins with a model that plays these turns; edits are allowed in mode `edits`."""
    with ExitStack() as clients:

        def begin(
            *turns: Turn, mode: str = "all", name: str = "sublime", dialog: str = "quiet", greet: bool = True
        ) -> Work:
            script, project = folder / "script.json", folder / "project"
            script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
            project.mkdir(exist_ok=True)
            if WAIT in turns:
                os.mkfifo(project / "door")
            variables = {
                "PILOTHOUSE_MODEL": f"scripted/{script}",
                "PILOTHOUSE_SET_MODE": mode,
                "PILOTHOUSE_SET_APPROVALS_DIALOG": dialog,
                "PILOTHOUSE_SCRIPT_LOG": str(folder / "requests"),
            }
            client = clients.enter_context(servers.started(folder / "home", variables))
            if WAIT in turns:
                # Only a server that ends by itself ends its commands.
                clients.callback(client.ended)
                clients.callback(client.close_input)
            return Work(client, StrictEditor(client, name, project, greet=greet), project)

        yield begin
