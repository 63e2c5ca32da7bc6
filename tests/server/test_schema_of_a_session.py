"""Every message of a recorded session fits the published schema, as a library for JSON Schema reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from jsonschema import Draft202012Validator

from pilothouse_server.protocol.schema import json_schema
from support.raw_client import RawClient, notification, request
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.covers("R258")]

Json: TypeAlias = dict[str, Any]

ANSWERS: dict[str, Json] = {
    "agent/requestApproval": {"optionId": "allow"},
    "agent/ask": {"answer": "left"},
    "editor/diagnostics": {"diagnostics": []},
    "editor/save": {"saved": [], "refused": []},
    "editor/reload": {"reloaded": []},
}
TURNS: list[Turn] = [
    {"calls": [call("c0", "read_file", path="formatted.txt")]},
    {"thinking": "Hm.", "text": "Reading", "calls": [call("c1", "read_file", path="a.txt")]},
    {"calls": [call("c2", "write_file", path="b.txt", content="x\n" * 9000)]},
    {"calls": [call("c3", "edit_file", path="a.txt", edits=[{"old_text": "one", "new_text": "two"}])]},
    {"calls": [call("c4", "bash", command="echo two >formatted.txt; false"), call("c5", "nope")]},
    {"calls": [call("c6", "todo_write", todos=[{"content": "x", "status": "pending"}])]},
    {"calls": [call("c7", "ask_user", question="Which?", options=["left", "right"])]},
    {"calls": [{"id": "c8", "name": "bash", "argumentsText": '{"command": '}]},
    {"calls": [call("c9", "complete_step", index=1)], "usage": {"input": 9, "output": 3}},
    {"error": {"status": 503, "message": "busy", "retryAfter": 0.01}},
    {"text": "Done.", "usage": {"input": 10, "output": 2, "cacheRead": 1}},
    {"error": {"status": 400, "message": "no"}},
    {"calls": [call("d1", "bash", command="sleep 60")]},
]


class Recorded:
    """Answers what the server asks, and keeps each message with what the schema says it has to be."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.schema = json_schema()
        self.told: list[tuple[str, Json, Any]] = []
        """Name, schema, value."""

    def ask(self, method: str, **params: Any) -> Json:
        self.begin("x", method, **params)
        return self.end("x", method)

    def begin(self, msg_id: str, method: str, **params: Any) -> None:
        self.told.append((f"params of {method}", self.schema["methods"][method]["params"], params))
        self.client.send(request(msg_id, method, **params))

    def end(self, msg_id: str, method: str) -> Json:
        while (message := self.client.read()) is not None:
            if "method" in message and "id" in message:
                self._reply(message)
            elif message.get("method") == "agent/event":
                params = self.schema["notifications"][message["method"]]["params"]
                self.told.append((message["params"]["type"], params, message["params"]))
            elif message.get("id") == msg_id:
                self._answered(method, message)
                return message
        raise AssertionError(f"no answer to {method}")

    def _reply(self, message: Json) -> None:
        method = message["method"]
        if method == "workspace/applyEdit":
            document = message["params"]["edit"]["documentChanges"][0]["textDocument"]
            changed = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": "two\n"}]}
            applied = {"jsonrpc": "2.0", "id": message["id"], "result": {"applied": True}}
            self.client.send(notification("textDocument/didChange", **changed), applied)
            return
        self.told.append((f"params of {method}", self.schema["methods"][method]["params"], message["params"]))
        self.told.append((f"result of {method}", self.schema["methods"][method]["result"], ANSWERS[method]))
        self.client.send({"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[method]})

    def _answered(self, method: str, message: Json) -> None:
        entry = self.schema["methods"][method]
        if "error" in message:
            kinds = [{"code": each["code"], "kind": each["kind"]} for each in entry["errors"]]
            error = message["error"]
            assert {"code": error["code"], "kind": error["data"]["kind"]} in kinds
        else:
            self.told.append((f"result of {method}", entry["result"], message["result"]))

    def misfits(self) -> Iterator[str]:
        for name, schema, value in self.told:
            validator = Draft202012Validator({**schema, "$defs": self.schema["$defs"]})
            for error in validator.iter_errors(value):  # pyright: ignore[reportUnknownMemberType]
                yield f"{name}: {error.message}"


def test_the_schema_itself_is_one() -> None:
    schema = json_schema()
    for definition in schema["$defs"].values():
        Draft202012Validator.check_schema(definition)


def test_every_message_of_a_session_fits(client: RawClient, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": TURNS}), encoding="utf-8")
    model = f"scripted/{script}"
    declared = {"approvals": True, "questions": True, "diagnostics": True, "save": True, "reload": True}
    client.initialize(
        options={**declared, "settings": {"retry.baseDelay": 0.01}}, workspace={"applyEdit": True}
    )
    r = Recorded(client)
    r.told.append(("what is declared", {"$ref": "#/$defs/ClientFeatures"}, declared))
    uri = (tmp_path / "a.txt").as_uri()
    formatted = tmp_path / "formatted.txt"
    formatted.write_text("one\n", encoding="utf-8")
    for opened in (uri, formatted.as_uri()):
        document = {"uri": opened, "languageId": "text", "version": 1, "text": "one\n"}
        client.send(notification("textDocument/didOpen", textDocument=document))

    new = r.ask("session/new", cwd=str(tmp_path), model=model, mode="ask")["result"]
    session, epoch = new["sessionId"], new["epoch"]
    context = {
        "uri": uri,
        "selection": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}},
    }
    first = r.ask("agent/prompt", sessionId=session, text="Go", promptId="p", context=context)["result"]
    second = r.ask("agent/prompt", sessionId=session, text="Go", thinking="high", mode="all")["result"]
    accepted = r.ask("agent/prompt", sessionId=session, text="Go", wait="accepted", mode="all")["result"]
    client.event("tool_execution_start")
    r.ask("agent/steer", sessionId=session, text="faster")
    r.ask("agent/followUp", sessionId=session, content=[{"type": "text", "text": "and then"}])
    queued = r.ask("agent/state")["result"]["sessions"][0]["steering"][0]["queueId"]
    r.ask("agent/unqueue", sessionId=session, queueIds=[queued])
    r.ask("agent/prompt", sessionId=session, text="busy")
    r.ask("agent/abort", sessionId=session)
    r.ask("agent/events", sessionId=session, epoch=epoch, afterSeq=0)
    r.ask("agent/events", sessionId=session, epoch="another", afterSeq=0)
    r.ask("agent/models")
    r.ask("session/setThinking", sessionId=session, thinking="low")
    r.ask("session/setModel", sessionId=session, model=model)
    r.ask("agent/answer", approvalId="none", optionId="allow")
    r.ask("agent/preview", approvalId="none")
    r.ask("session/rewind", sessionId=session, runId=first["runId"], merge=True)
    r.ask("session/rename", sessionId=session, title="Schema")
    r.ask("session/close", sessionId=session)
    fork = r.ask("session/fork", sessionId=session)["result"]["sessionId"]
    r.ask("session/list", cwd=str(tmp_path), query="schema", limit=1)
    r.ask("session/load", **{"sessionId": fork, "continue": True})
    r.ask("session/export", sessionId=fork, format="markdown")
    r.ask("session/delete", sessionId=fork)
    r.ask("agent/state", sessionId=session)

    assert list(r.misfits()) == []
    assert [first["stopReason"], second["stopReason"], set(accepted)] == [
        "completed",
        "error",
        {"sessionId", "runId"},
    ]
    names = {name for name, _, _ in r.told}
    assert {f"params of {method}" for method in r.schema["methods"]} - names == set()
    assert {"approval_requested", "file_changed", "todo_update", "retry_scheduled", "queue_update"} <= names


@pytest.mark.parametrize(
    ("method", "of", "wrong"),
    [
        ("agent/prompt", "params", {"text": 7}),
        ("agent/prompt", "params", {"text": "x", "thinking": "very"}),
        ("agent/prompt", "result", {"sessionId": "s"}),
        ("agent/requestApproval", "result", {"optionId": None}),
        ("session/rewind", "params", {}),
    ],
)
def test_what_does_not_fit_is_refused(method: str, of: str, wrong: Json) -> None:
    schema = json_schema()
    validator = Draft202012Validator({**schema["methods"][method][of], "$defs": schema["$defs"]})

    assert not validator.is_valid(wrong)  # pyright: ignore[reportUnknownMemberType]
