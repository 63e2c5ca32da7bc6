"""What a client shows of another scheme, over the wire: read after a question, never changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.raw_client import RawClient, request
from support.wire_models import Turn, call

URI = 'git:/ws/a.py?{"path":"/ws/a.py","ref":"~"}'


@pytest.mark.slow
@pytest.mark.covers("R213")
def test_a_document_of_another_scheme_is_read_when_the_user_allows_it(
    client: RawClient, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    read: Turn = {"calls": [call("c1", "read_file", path=URI)]}
    edit: Turn = {"calls": [call("c2", "edit_file", path=URI, old_text="old", new_text="new")]}
    script.write_text(json.dumps({"turns": [read, edit, {"text": "Done."}]}), encoding="utf-8")
    client.initialize(options={"approvals": True})
    document = {"uri": URI, "languageId": "python", "version": 1, "text": "old\n"}
    client.notify("textDocument/didOpen", textDocument=document)
    session = client.session(tmp_path, f"scripted/{script}", mode="edits")
    client.send(request("p", "agent/prompt", sessionId=session, text="Go"))

    asked = client.until(method="agent/requestApproval")
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"optionId": "allow"}})
    client.answer("p")

    ends = [each["params"] for each in client.seen if each.get("method") == "agent/event"]
    results = [
        (end["message"]["isError"], end["message"]["content"][0]["text"])
        for end in ends
        if end["type"] == "message_end" and end["message"]["role"] == "toolResult"
    ]
    assert (asked["params"]["title"], asked["params"]["risk"]) == (f"Read {URI}", "high")
    assert results == [
        (
            False,
            f"[{URI}, lines 1-1 of 1]\nold\n"
            "[This is a document in the editor that is not a file here. It can only be read.]",
        ),
        (
            True,
            f"The arguments do not fit edit_file, which did not run:\n- path: {URI} is a document in the "
            "editor that is not a file here, and can only be read. Change the file that it was made from, or "
            "write a file of your own",
        ),
    ]
