"""One file has one spelling towards the client: its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse_server.documents.client_uris import ClientUris
from pilothouse_server.documents.documents import Documents
from support.raw_client import RawClient, request
from support.wire_models import Turn, call

pytestmark = pytest.mark.covers("R262")


def opened(documents: Documents, uri: str, text: str = "") -> None:
    documents.did_open({"textDocument": {"uri": uri, "languageId": "", "version": 1, "text": text}})


@pytest.mark.parametrize("name", ["a%40b.txt", "a@b.txt", "a%20b.txt", "%61.txt", "caf%c3%a9.txt"])
async def test_an_open_document_has_the_uri_that_the_client_gave_it(tmp_path: Path, name: str) -> None:
    documents = Documents("utf-16")
    uri = f"{tmp_path.as_uri()}/{name}"
    opened(documents, uri)
    path = documents.all()[0].path
    assert path is not None

    assert ClientUris(documents).of(path) == uri


def test_what_is_not_open_is_named_below_its_folder_as_that_was_opened(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    uris = ClientUris(Documents("utf-16"))
    uris.learn([str(link)])

    assert uris.named(str(tmp_path / "real" / "a.txt")) == str(link / "a.txt")
    assert uris.of(str(tmp_path / "real" / "a.txt")) == (link / "a.txt").as_uri()
    assert uris.of(str(tmp_path / "really.txt")) == (tmp_path / "really.txt").as_uri()


@pytest.mark.slow
def test_questions_events_and_undo_spell_a_file_alike(client: RawClient, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    script = tmp_path / "script.json"
    write: Turn = {"calls": [call("c1", "write_file", path="a@b.txt", content="x\n")]}
    script.write_text(json.dumps({"turns": [write, {"text": "Done."}]}), encoding="utf-8")
    client.initialize(options={"approvals": True})
    session = client.session(link, f"scripted/{script}", mode="ask")
    client.send(request("p", "agent/prompt", sessionId=session, text="Go"))

    asked = client.until(method="agent/requestApproval")
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"optionId": "allow"}})
    changed = client.event("file_changed")

    expected = f"{link.as_uri()}/a@b.txt"
    assert [each["uri"] for each in asked["params"]["diffs"]] == [expected]
    assert (changed["uri"], changed["path"]) == (expected, str(link / "a@b.txt"))
