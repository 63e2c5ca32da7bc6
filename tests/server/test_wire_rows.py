"""Bad input on a real server's descriptors: each kind is answered rightly, and what can go on goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.wire.frames import frame
from support.raw_client import RawClient, notification, request, started

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

PING = json.dumps(request("ping", "agent/state")).encode()
PONG: Json = {"result": {"sessions": []}}
NOT_JSON, NOT_A_REQUEST, NOT_INITIALIZED, SHUTTING_DOWN = -32700, -32600, -32002, -31008


def code(message: Json | None) -> tuple[Any, int]:
    """The id and the code of an error."""
    assert message is not None
    return message["id"], message["error"]["code"]


@pytest.mark.covers("R184")
@pytest.mark.parametrize(
    "framed",
    [
        pytest.param(b"content-length: %d\r\n\r\n", id="lower case"),
        pytest.param(b"CONTENT-LENGTH:%d\r\n\r\n", id="no blank behind the colon"),
        pytest.param(b"Content-Length: %d\n\n", id="line feeds alone"),
        pytest.param(
            b"Content-Type: x; charset=utf-8\r\nContent-Length: %d\r\nX: y\r\n\r\n", id="other headers"
        ),
        pytest.param(b"junk\r\nContent-Length: %d\r\n\r\n", id="a stray line"),
        pytest.param(b"\r\n\n\r\nContent-Length: %d\r\n\r\n", id="blank lines"),
    ],
)
def test_a_header_may_be_written_in_many_ways(client: RawClient, framed: bytes) -> None:
    client.initialize()
    client.write(framed % len(PING) + PING)

    assert client.answer("ping") == PONG


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"Content-Length: -5\r\n\r\n{}", id="negative"),
        pytest.param(b"Content-Length: ten\r\n\r\n{}", id="not a number"),
        pytest.param(b"Content-Length: 10000000000000\r\n\r\n", id="10^13"),
        pytest.param(b"Content-Length: 100000000000000000000\r\n\r\n", id="10^20"),
        pytest.param(b"Content-Type: x\r\n\r\n{}", id="no length"),
        pytest.param(b"x" * 20_000, id="no end of the header"),
    ],
)
def test_a_header_that_cannot_be_understood_is_said_and_ends_the_server(
    client: RawClient, data: bytes
) -> None:
    client.initialize()
    client.write(data)

    assert code(client.until(id=None, method=None)) == (None, NOT_JSON)
    assert (client.rest(), client.ended(3)) == ([], 1)


@pytest.mark.parametrize("too_short", [1, 5])
def test_a_length_that_is_too_short_is_said_and_ends_the_server(client: RawClient, too_short: int) -> None:
    client.initialize()
    client.write(b"Content-Length: %d\r\n\r\n%b" % (len(PING) - too_short, PING) + frame(PING))

    assert [code(message) for message in client.rest()] == [(None, NOT_JSON)] * 2
    assert client.ended(3) == 1


def test_a_length_that_is_too_long_eats_the_next_message_and_ends_the_server(client: RawClient) -> None:
    client.initialize()
    client.write(b"Content-Length: %d\r\n\r\n%b" % (len(PING) + 5, PING) + frame(PING))

    assert [code(message) for message in client.rest()] == [(None, NOT_JSON)] * 2
    assert client.ended(3) == 1


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b"not json", (None, NOT_JSON)),
        (b"", (None, NOT_JSON)),
        (b"[" * 100_000 + b"]" * 100_000, (None, NOT_JSON)),
        ('{"jsonrpc": "2.0", "id": 1, "method": "agent/state"}'.encode("utf-16"), (None, NOT_JSON)),
        (b"\xef\xbb\xbf" + PING, (None, NOT_JSON)),
        (PING.replace(b"ping", b"\xff"), (None, NOT_JSON)),
        (b"{}", (None, NOT_A_REQUEST)),
        (b"7", (None, NOT_A_REQUEST)),
        (b'"text"', (None, NOT_A_REQUEST)),
        (b"null", (None, NOT_A_REQUEST)),
        (b"[%b]" % PING, (None, NOT_A_REQUEST)),
        (b'{"id": 1, "method": "agent/state"}', (1, NOT_A_REQUEST)),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "agent/state"}', (1, NOT_A_REQUEST)),
        (b'{"jsonrpc": "2.0", "id": null, "method": "agent/state"}', (None, NOT_A_REQUEST)),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "agent/state"}', (None, NOT_A_REQUEST)),
        (b'{"jsonrpc": "2.0", "id": true, "method": "agent/state"}', (None, NOT_A_REQUEST)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agent/state", "params": []}', (1, -32602)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agent/abort"}', (1, -32602)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agent/abort", "params": {"sessionId": 7}}', (1, -32602)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agent/prompt", "params": {"jsonrpc": "2.0"}}', (1, -32602)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {}}', (1, -32601)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "workspace/executeCommand", "params": 1}', (1, -32602)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agent/nope"}', (1, -32601)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nope"}', (1, -32601)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "$/nope"}', (1, -32601)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialized"}', (1, -32601)),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}', (1, NOT_A_REQUEST)),
    ],
)
def test_a_bad_message_gets_its_error_and_the_next_one_its_answer(
    client: RawClient, body: bytes, answer: tuple[Any, int]
) -> None:
    client.initialize()
    client.write(frame(body) + frame(PING))
    refused = client.read()

    assert (code(refused), client.answer("ping")) == (answer, PONG)


@pytest.mark.parametrize(
    "message",
    [
        notification("nope"),
        notification("$/setTrace", value="off"),
        notification("agent/nope"),
        notification("agent/prompt", text="Hi"),
        notification("textDocument/didChange"),
        notification("window/workDoneProgress/cancel", token=[1]),
        notification("$/cancelRequest"),
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": [1]},
        {"jsonrpc": "2.0", "id": "s99", "result": 1},
        {"jsonrpc": "2.0", "id": None, "error": 1},
    ],
)
def test_notifications_and_answers_that_make_no_sense_are_passed_over(
    client: RawClient, message: Json
) -> None:
    client.initialize()
    client.send(message)

    assert client.ask("ping", "agent/state") == PONG
    assert [seen["id"] for seen in client.seen] == ["initialize", "ping"]


def test_before_initialize_requests_are_refused_and_documents_dropped(client: RawClient) -> None:
    document = {"uri": "file:///a", "languageId": "x", "version": 1, "text": ""}
    client.send(request(1, "agent/state"), notification("textDocument/didOpen", textDocument=document))

    assert code(client.read()) == (1, NOT_INITIALIZED)
    assert client.initialize()["serverInfo"]["name"] == "pilothouse"
    assert client.ask("ping", "agent/state") == PONG


def test_after_shutdown_requests_are_refused_and_exit_is_a_success(client: RawClient) -> None:
    client.initialize()
    client.send(request(1, "shutdown"), request(2, "agent/state"))
    answers = [client.answer(2), client.answer(1)]
    client.notify("exit")

    assert [answers[0]["error"]["data"], answers[1]] == [{"kind": "shuttingDown"}, {"result": None}]
    assert client.ended(1.5) == 0


def test_an_exit_without_shutdown_is_a_failure(client: RawClient) -> None:
    client.initialize()
    client.notify("exit")

    assert client.ended(1.5) == 1


@pytest.mark.parametrize(("shutdown", "exit_code"), [(True, 0), (False, 1)])
def test_the_end_of_input_ends_the_server(client: RawClient, shutdown: bool, exit_code: int) -> None:
    client.initialize()
    if shutdown:
        client.ask(1, "shutdown")
    client.close_input()

    assert client.ended(3) == exit_code


@pytest.mark.parametrize("before", ["initialize", "the parts are loaded", "the client has answered"])
@pytest.mark.parametrize("how", ["exit", "end of input", "shutdown"])
def test_an_end_while_the_server_is_starting_answers_what_was_asked(
    tmp_path: Path, before: str, how: str
) -> None:
    with started(tmp_path) as client:
        answers, exit_code = end_while_starting(client, before, how)

    code = NOT_INITIALIZED if before == "initialize" else SHUTTING_DOWN
    assert answers == [code]
    assert exit_code == (0 if how == "shutdown" and before != "initialize" else 1)


def end_while_starting(client: RawClient, before: str, how: str) -> tuple[list[int], int]:
    """The codes of the errors that a request gets which comes before the end."""
    capabilities: Json = {"workspace": {"configuration": before == "the client has answered"}}
    asked = request(1, "agent/state")
    if before != "initialize":
        opening = request(0, "initialize", processId=None, capabilities=capabilities)
        client.send(opening, notification("initialized"), asked)
        client.answer(0)
    else:
        client.send(asked)
    if before == "the client has answered":
        client.until(method="workspace/configuration")
    if how == "shutdown":
        client.send(request(2, "shutdown"))
    client.notify("exit") if how == "exit" else client.close_input()
    codes = [message["error"]["code"] for message in client.rest() if message.get("id") == 1]
    return codes, client.ended(3)


def test_a_request_of_50_megabytes_is_taken_in_a_moment_and_within_bounds(client: RawClient) -> None:
    client.initialize()
    client.ask("warm", "agent/state")
    big = frame(json.dumps(request(1, "agent/nope", text="x" * 50_000_000)).encode())
    began = time.monotonic()
    client.write(big)
    client.answer(1)

    assert time.monotonic() - began < 5
    assert peak_memory(client.process.pid) < 300


def peak_memory(pid: int) -> float:
    """In megabytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1000


def test_input_from_a_file_is_taken_up_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "input"
    opening = request(0, "initialize", processId=None, capabilities={})
    sent = [opening, notification("initialized"), request(1, "shutdown"), notification("exit")]
    path.write_bytes(b"".join(frame(json.dumps(message).encode()) for message in sent))

    with path.open("rb") as file, started(tmp_path, stdin=file.fileno()) as client:
        assert ([message["id"] for message in client.rest()], client.ended(3)) == ([0, 1], 0)


def test_no_input_at_all_ends_the_server(tmp_path: Path) -> None:
    with started(tmp_path, stdin=subprocess.DEVNULL) as client:
        assert (client.rest(), client.ended(3)) == ([], 1)


@pytest.mark.covers("R179", "R181")
def test_a_client_that_never_reads_standard_error_holds_nothing_up(tmp_path: Path) -> None:
    with started(tmp_path, stderr=subprocess.PIPE) as client:
        client.initialize()
        client.send(*(notification("agent/nope") for _ in range(2000)))
        for _ in range(2000):
            client.write(frame(b'{"jsonrpc": "2.0", "id": "x", "method": "initialize"}') + frame(b"not json"))
            client.read()
            client.read()

        assert client.ask("ping", "agent/state") == PONG


@pytest.mark.covers("R181")
@pytest.mark.parametrize("descriptors", ["2>&-", "0<&- 2>&-"])
def test_closed_standard_descriptors_do_not_get_in_the_way(tmp_path: Path, descriptors: str) -> None:
    command = f'exec "$@" {descriptors}'
    server = ["sh", "-c", command, "sh", sys.executable, "-P", "-m", "pilothouse_cli.main", "serve"]
    with started(tmp_path, argv=server) as client:
        if "0" in descriptors:
            assert (client.rest(), client.ended(3)) == ([], 1)
        else:
            client.initialize()
            assert client.ask("ping", "agent/state") == PONG


@pytest.mark.covers("R181")
def test_a_reader_of_standard_error_that_is_gone_costs_nothing(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with started(tmp_path, stderr=writer) as client:
        os.close(writer)
        os.close(reader)
        client.initialize()
        for number in range(200):
            client.ask(number, "agent/abort")

        assert client.ask("ping", "agent/state") == PONG


@pytest.mark.covers("R184", "R185")
def test_the_header_word_in_a_text_and_single_bytes_confuse_nobody(tmp_path: Path, client: RawClient) -> None:
    text = "Content-Length: 5\r\n\r\nhello 测试 😋"
    script = tmp_path / "script.json"
    turns = [{"text": [text, " \ud83d"], "expect": {"contains": ["hello 测试 😋"]}}]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={})
    session = client.session(tmp_path, f"scripted/{script}")
    document = {"uri": f"file://{tmp_path}/a", "languageId": "x", "version": 1, "text": text}
    opened = json.dumps(notification("textDocument/didOpen", textDocument=document), ensure_ascii=False)
    prompt = json.dumps(request(1, "agent/prompt", sessionId=session, text=text), ensure_ascii=False)
    for byte in frame(opened.encode()) + frame(prompt.encode()):
        client.write(bytes([byte]))

    assert client.answer(1)["result"]["text"] == f"{text} \ufffd"
