"""An editor without a plugin that objects to everything it has not said that it can."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from pilothouse_server.client.positions import Encoding, Position
from support.lsp_model import apply
from support.raw_client import LIMIT, RawClient, request

__all__ = ["CLIENTS", "StrictEditor"]

Json: TypeAlias = dict[str, Any]

_FOLDER = Path(__file__).parent / "clients"
CLIENTS = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))
_NEEDED = {
    "window/workDoneProgress/create": ("window", "workDoneProgress"),
    "$/progress": ("window", "workDoneProgress"),
    "window/showMessageRequest": ("window", "showMessage"),
    "window/showDocument": ("window", "showDocument", "support"),
    "workspace/applyEdit": ("workspace", "applyEdit"),
    "workspace/configuration": ("workspace", "configuration"),
    "client/registerCapability": (),
    "window/showMessage": (),
    "$/cancelRequest": (),
}
"""What a client must have declared for a message; messages that are not here are for plugins only."""


@dataclass
class _Buffer:
    text: str
    version: int


class StrictEditor:
    """`objections` is what the server did that this editor has no place for; empty at the end of a test."""

    def __init__(self, client: RawClient, name: str, folder: Path, *, greet: bool = True) -> None:
        """Without `greet` the test says who it is."""
        described = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        self.name = name
        self.objections: list[str] = []
        self.shown: list[str] = []
        """Documents the server has had shown."""
        self.messages: list[str] = []
        """Shown by `window/showMessage`."""
        self.progress: list[str] = []
        """What was said of the progress of runs."""
        self.refusing = False
        """Takes no edits for now."""
        self.refused = 0
        """Edits it has not taken."""
        self.holding = False
        """Edits wait until `release`."""
        self.selections: list[Json | None] = []
        """Of `shown`."""
        self._held: list[Json] = []
        self._questions: list[Json] = []
        self._client = client
        self._capabilities: Json = described["capabilities"]
        self._buffers: dict[str, _Buffer] = {}
        self._asked = 0
        if not greet:
            return
        root = {"rootUri": folder.as_uri(), "workspaceFolders": [{"uri": folder.as_uri(), "name": "ws"}]}
        self.answer = client.ask("initialize", "initialize", processId=None, **described, **root)["result"]
        offered = self._capabilities.get("general", {}).get("positionEncodings") or ["utf-16"]
        self._encoding: Encoding = self.answer["capabilities"]["positionEncoding"]
        if self._encoding not in offered:
            self.objections.append(f"encoding {self._encoding}")
        client.notify("initialized")

    @property
    def asks_by_message(self) -> bool:
        return self._can("window", "showMessage") or self.name == "eglot"

    @property
    def takes_edits(self) -> bool:
        return self.name != "kate"

    def open(self, path: Path, text: str | None = None) -> None:
        first = 1 if self.name == "vscode" else 0
        content = text if text is not None else path.read_text(encoding="utf-8")
        self._buffers[path.as_uri()] = _Buffer(content, first)
        document = {"uri": path.as_uri(), "languageId": "x", "version": first, "text": content}
        self._client.notify("textDocument/didOpen", textDocument=document)

    def type(self, path: Path, text: str) -> None:
        """At the end."""
        self._changed(path.as_uri(), self._buffers[path.as_uri()].text + text)

    def retype(self, path: Path, text: str) -> None:
        """Everything."""
        self._changed(path.as_uri(), text)

    def save(self, path: Path) -> None:
        text = self.text(path)
        path.write_text(text, encoding="utf-8")
        self._client.notify("textDocument/didSave", textDocument={"uri": path.as_uri()}, text=text)

    def text(self, path: Path) -> str:
        return self._buffers[path.as_uri()].text

    def actions(self, path: Path, *, line: int = 0) -> list[Json]:
        """Those offered at the beginning of a line."""
        place = {"line": line, "character": 0}
        return self._result(
            "textDocument/codeAction",
            textDocument={"uri": path.as_uri()},
            range={"start": place, "end": place},
            context={"diagnostics": []},
        )

    def act(self, path: Path, title: str) -> Json:
        """Carry out the one action whose title begins so; the command's result."""
        (action,) = (each for each in self.actions(path) if each["title"].startswith(title))
        command = action["command"]
        arguments = {"arguments": command["arguments"]} if "arguments" in command else {}
        return self._result("workspace/executeCommand", command=command["command"], **arguments)

    def until(self, done: Callable[[], bool]) -> None:
        """Serve the server until something is so."""
        while not done():
            message = self._client.read(LIMIT)
            assert message is not None, "the server has ended"
            self._take(message)

    def until_offered(self, path: Path, title: str) -> None:
        """Ask for code actions until one begins so."""
        until = time.monotonic() + LIMIT
        while not any(each["title"].startswith(title) for each in self.actions(path)):
            assert time.monotonic() < until, f"{title!r} was not offered"

    def question(self) -> Json:
        """The next message that asks for an answer, to be given by `choose`."""
        self.until(lambda: bool(self._questions))
        return self._questions.pop(0)

    def choose(self, question: Json, title: str) -> None:
        (action,) = (each for each in question["params"]["actions"] if each["title"] == title)
        self._reply(question, action)

    @property
    def held(self) -> int:
        """Edits that wait."""
        return len(self._held)

    def release(self) -> None:
        self.holding, held, self._held = False, self._held, []
        for message in held:
            self._apply(message)

    def close_question(self, question: Json) -> None:
        self._reply(question, None)

    def request(self, method: str, **params: Any) -> Json:
        """The whole answer; the server is served meanwhile."""
        self._asked += 1
        msg_id = f"c{self._asked}"
        self._client.send(request(msg_id, method, **params))
        answers: list[Json] = []
        while not answers:
            message = self._client.read(LIMIT)
            assert message is not None, "the server has ended"
            if message.get("id") == msg_id and "method" not in message:
                answers.append(message)
            else:
                self._take(message)
        return answers[0]

    def _result(self, method: str, **params: Any) -> Any:
        answer = self.request(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def _take(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params")
        if method is None:
            return
        self.objections += self._objections(method, cast("Json", params))
        match method:
            case "workspace/applyEdit" if self.holding:
                self._held.append(message)
            case "workspace/applyEdit":
                self._apply(message)
            case "workspace/configuration":
                self._reply(message, [None])
            case "window/showMessageRequest":
                self._questions.append(message)
            case "window/showDocument":
                self.shown.append(message["params"]["uri"])
                self.selections.append(message["params"].get("selection"))
                self._reply(message, {"success": True})
            case "$/progress":
                value = message["params"]["value"]
                self.progress += [value["message"]] if "message" in value else []
            case "window/showMessage":
                self.messages.append(message["params"]["message"])
            case _ if "id" in message:
                self._reply(message, None)
            case _:
                pass

    def _objections(self, method: str, params: Json) -> Iterator[str]:
        if method not in _NEEDED:
            yield f"{method} is for plugins"
        elif method == "window/showMessageRequest":
            if not self.asks_by_message:
                yield f"{method} is not declared"
        elif not self._can(*_NEEDED[method]):
            yield f"{method} is not declared"
        if method == "client/registerCapability":
            yield from self._registrations(params)
        if method == "workspace/applyEdit":
            yield from self._edit(params)

    def _registrations(self, params: Json) -> Iterator[str]:
        for each in params["registrations"]:
            if not self._can(*each["method"].split("/"), "dynamicRegistration"):
                yield f"{each['method']} cannot be registered"

    def _edit(self, params: Json) -> Iterator[str]:
        edit = params["edit"]
        if not self.takes_edits:
            yield "edits are not taken"
        if set(edit) != {"documentChanges"} or len(edit["documentChanges"]) != 1:
            yield f"not one document: {sorted(edit)}"
        # Neovim obeys what it does not declare.
        if not (self._can("workspace", "workspaceEdit", "documentChanges") or self.name == "neovim"):
            yield "documentChanges are not declared"
        if "kind" in edit["documentChanges"][0]:
            yield "a resource operation"
        if "metadata" in params:
            yield "metadata"

    def _apply(self, message: Json) -> None:
        (change,) = message["params"]["edit"]["documentChanges"]
        uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
        buffer = self._buffers[uri]
        # Neovim checks no version that is not above 0, so it is sent 1 for 0.
        if self.refusing:
            self.refused += 1
            self._reply(message, {"applied": False})
            return
        if version != buffer.version and not (self.name == "neovim" and buffer.version == 0):
            self._reply(message, {"applied": False})
            return
        edits = [
            (Position(**e["range"]["start"]), Position(**e["range"]["end"]), e["newText"])
            for e in change["edits"]
        ]
        self._changed(uri, apply(buffer.text, edits, self._encoding))
        self._reply(message, {"applied": True})

    def _changed(self, uri: str, text: str) -> None:
        buffer = self._buffers[uri]
        buffer.text, buffer.version = text, buffer.version + 1
        document = {"uri": uri, "version": buffer.version}
        self._client.notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])

    def _reply(self, message: Json, result: Any) -> None:
        self._client.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _can(self, *path: str) -> bool:
        node: Any = self._capabilities
        for name in path:
            node = cast("Json", node).get(name) if isinstance(node, dict) else None
        return not path or node is True or isinstance(node, dict)
