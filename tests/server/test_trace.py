"""What a client is told of the server's inside: a trace of its messages, and the server's own log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.raw_client import RawClient, notification, request

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]

STATE: Json = {"sessions": []}
SAID = "Sending response '{} - ({})'. Processing request took _ms."


def traced(client: RawClient) -> list[Json]:
    """What was told so far, without the times."""
    told = [message["params"] for message in client.seen if message.get("method") == "$/logTrace"]
    return [{**one, "message": re.sub(r"\d+ms", "_ms", one["message"])} for one in told]


def test_a_client_that_traces_messages_is_told_of_those_it_sends_and_of_their_answers(
    client: RawClient,
) -> None:
    client.send(request(0, "initialize", trace="messages"), notification("initialized"))
    client.ask(1, "agent/state")
    client.ask(2, "agent/abort", sessionId="none")

    assert traced(client) == [
        {"message": "Received notification 'initialized'."},
        {"message": "Received request 'agent/state - (1)'."},
        {"message": SAID.format("agent/state", 1)},
        {"message": "Received request 'agent/abort - (2)'."},
        {"message": SAID.format("agent/abort", 2)},
    ]


def test_a_trace_begins_and_ends_when_the_client_says_so(client: RawClient) -> None:
    client.initialize()
    client.ask(1, "agent/state")
    client.notify("$/setTrace", value="verbose")
    client.ask(2, "agent/state", sessionId=None)
    client.notify("$/setTrace", value="loud")
    client.notify("$/setTrace", value="off")
    client.ask(3, "agent/state")

    assert traced(client) == [
        {"message": "Received request 'agent/state - (2)'.", "verbose": 'Params: {"sessionId":null}'},
        {"message": SAID.format("agent/state", 2), "verbose": 'Result: {"sessions":[]}'},
        {"message": "Received notification '$/setTrace'.", "verbose": 'Params: {"value":"loud"}'},
        {"message": "Received notification '$/setTrace'.", "verbose": 'Params: {"value":"off"}'},
    ]


@pytest.mark.parametrize("level", ["warning", "error", None])
def test_the_log_comes_from_the_level_on_that_the_client_wants(
    client: RawClient, tmp_path: Path, level: str | None
) -> None:
    client.initialize(options={"settings": {"no.such.key": 1}, **({"log": level} if level else {})})
    client.notify("agent/encoding", uri="file:///nothing", encoding="latin-1")
    client.ask(1, "agent/state")
    logged = [message["params"] for message in client.seen if message.get("method") == "window/logMessage"]

    warning = "pilothouse_server.documents.documents: Ignored the encoding of a document that is not open"
    found = [one["type"] for one in logged if one["message"].startswith(warning)]
    assert found == ([2] if level == "warning" else [])
    assert level is not None or logged == []
