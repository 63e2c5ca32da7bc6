"""Documents of a real server process, told in raw frames."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.frames import frame
from support import document_probe
from support.open_documents import change, closing, opening
from support.raw_client import RawClient, request, started

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

URI = "file:///ws/a.py"
WATCHES: Json = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    argv = (sys.executable, "-P", document_probe.__file__)
    paths = {"PYTHONPATH": str(Path(document_probe.__file__).parents[1])}
    with started(tmp_path, argv=argv, variables=paths) as client:
        yield client


def hello(**capabilities: Any) -> list[Json]:
    folders = [{"uri": "file:///ws%20one", "name": "one"}]
    params = {"capabilities": capabilities, "workspaceFolders": folders}
    return [request(1, names.INITIALIZE, **params), told(names.INITIALIZED, {})]


def told(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def held(client: RawClient, msg_id: int = 99) -> Json:
    return client.ask(msg_id, document_probe.DOCUMENTS)["result"]


@pytest.mark.covers("R055")
@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_documents_in_the_packet_of_the_handshake_are_heard_in_order_in_the_clients_encoding(
    client: RawClient, encoding: str, column: int
) -> None:
    here = (0, column)
    client.send(
        *hello(general={"positionEncodings": [encoding]}),
        told(names.DID_OPEN, opening(URI, "😋\x0c\n", 0)),
        told(names.DID_CHANGE, change(URI, 10, ((here, here), "b"), ((here, here), "a"))),
        told(names.DID_OPEN, opening("file:///ws/b.py", "b")),
        told(names.DID_CLOSE, closing("file:///ws/b.py")),
        told(names.DID_CHANGE, change("file:///ws/b.py", 2, "late")),
    )

    assert client.until(id=1)["result"]["capabilities"]["positionEncoding"] == encoding
    assert held(client)["documents"] == {URI: [10, "😋ab\x0c\n", None]}


def test_documents_do_not_wait_for_what_the_client_is_asked(client: RawClient) -> None:
    client.send(
        *hello(workspace={"configuration": True}, textDocument={}),
        told(names.DID_OPEN, opening(URI, "a")),
        told(document_probe.TELL, {}),
        request(2, document_probe.DOCUMENTS),
    )
    heard = client.until(method=document_probe.DOCUMENTS)

    assert heard["params"]["documents"] == {URI: [1, "a", None]}
    assert [message["id"] for message in client.seen if "result" in message] == [1]


def test_a_change_that_cannot_be_understood_is_no_fault_of_the_connection(client: RawClient) -> None:
    client.send(
        *hello(),
        told(names.DID_OPEN, opening(URI, "a")),
        told(names.DID_CHANGE, change(URI, None, "b")),
    )
    client.until(id=1)

    doubt = "the editor gave no version number"
    assert held(client)["documents"] == {URI: [1, "a", doubt]}
    assert [message for message in client.seen if "method" in message] == []


def test_folders_come_and_go(client: RawClient) -> None:
    event = {"added": [{"uri": "file:///ws/%C3%A9", "name": "two"}], "removed": []}
    client.send(*hello(), told(names.FOLDERS_CHANGED, {"event": event}))
    client.until(id=1)
    both = held(client)["folders"]
    gone = {"added": [], "removed": [{"uri": "file:///ws one", "name": "one"}]}
    client.send(told(names.FOLDERS_CHANGED, {"event": gone}))

    assert (both, held(client, 100)["folders"]) == (["/ws one", "/ws/é"], ["/ws/é"])


@pytest.mark.covers("R260")
def test_a_client_that_can_watch_files_is_not_asked_to_for_nobody(client: RawClient) -> None:
    client.send(*hello(**WATCHES), told(names.INITIALIZED, {}))
    held(client)

    assert [message["method"] for message in client.seen if "method" in message] == []


@pytest.mark.parametrize(
    ("message", "doubt"),
    [
        (
            b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{',
            "a message of the editor about it",
        ),
        (
            b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":[1]}',
            "the editor changed a document",
        ),
    ],
)
def test_a_change_that_nobody_can_read_puts_what_it_may_have_changed_in_doubt(
    client: RawClient, message: bytes, doubt: str
) -> None:
    client.send(*hello(), told(names.DID_OPEN, opening(URI, "a")))
    client.until(id=1)
    client.write(frame(message))
    version, text, why = held(client)["documents"][URI]

    assert (version, text, why.startswith(doubt)) == (1, "a", True)
