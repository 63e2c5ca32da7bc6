"""Whatever a request of a real method holds, it has one answer, and the server goes on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from pilothouse_server.wire import method_names
from support.nursery import Nursery
from support.raw_client import RawClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

Json: TypeAlias = dict[str, Any]

OURS = [name for each in method_names.__all__ if isinstance(name := getattr(method_names, each), str)]
LIFE = {"exit", "shutdown"}
METHODS = sorted({*OURS, *types.METHOD_TO_TYPES} - LIFE)
KEYS = sorted(
    {
        *["sessionId", "text", "content", "cwd", "folders", "model", "mode", "wait", "promptId", "queueIds"],
        *[
            "approvalId",
            "optionId",
            "epoch",
            "afterSeq",
            "limit",
            "token",
            "settings",
            "command",
            "arguments",
        ],
        *["textDocument", "contentChanges", "position", "range", "uri", "version", "event", "changes", "id"],
        *[
            "type",
            "start",
            "end",
            "line",
            "character",
            "languageId",
            "jsonrpc",
            "method",
            "params",
            "context",
        ],
    }
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([1e300, 2**70, 0.5]),
    st.sampled_from(
        ["", "x", "text", "/", "/nowhere", "file:///a", "file://[", "\x00", "\ud83d", "😋", "all"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
params = st.dictionaries(st.sampled_from(KEYS), values, max_size=5) | values
calls = st.tuples(st.sampled_from(METHODS), params, st.booleans())


@pytest.fixture(scope="module")
def server(servers: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with servers.started(tmp_path_factory.mktemp("fuzzed")) as client:
        client.initialize(options={}, window={"workDoneProgress": True, "showMessage": {}})
        yield client


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(calls, min_size=1, max_size=12))
def test_each_request_of_a_real_method_has_one_answer(
    server: RawClient, sent: list[tuple[str, Any, bool]]
) -> None:
    server.seen.clear()
    requests = [number for number, (_, _, is_request) in enumerate(sent) if is_request]
    for number, (method, held, is_request) in enumerate(sent):
        message: Json = {"jsonrpc": "2.0", "method": method, "params": held}
        server.send(message | ({"id": number} if is_request else {}))
    while len(answered(server)) < len(requests):
        server.read()
    server.ask("alive", "agent/state")

    assert answered(server) == Counter(requests)


def answered(server: RawClient) -> Counter[int]:
    """Anything may have been given an answer but once."""
    return Counter(seen["id"] for seen in server.seen if isinstance(seen.get("id"), int))


def test_a_session_survives_it_too(server: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turns": [{"text": "Done."}]}), encoding="utf-8")
    session = server.session(tmp_path, f"scripted/{path}")

    assert server.ask("after", "agent/prompt", sessionId=session, text="Go")["result"]["text"] == "Done."
