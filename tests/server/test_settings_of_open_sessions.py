"""An open session follows the settings of its editor: its next run has the limits and rules of now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.wire import method_names as names
from support.raw_client import RawClient
from support.wire_models import Turn, call

Json: TypeAlias = dict[str, Any]

COUNT = {"command": "printf '1\\n2\\n3\\n4\\n'"}


def results(client: RawClient) -> list[str]:
    """The first lines of what the model was told of its calls so far."""
    params = [each["params"] for each in client.seen if each.get("method") == names.EVENT]
    ended = [each["message"] for each in params if each["type"] == "message_end"]
    return [each["content"][0]["text"].strip() for each in ended if each["role"] == "toolResult"]


@pytest.mark.slow
@pytest.mark.covers("R252")
def test_the_next_run_of_an_open_session_has_the_limits_and_rules_of_now(
    client: RawClient, tmp_path: Path
) -> None:
    (tmp_path / "ws").mkdir()
    script = tmp_path / "script.json"
    done: Turn = {"text": "Done."}
    turns: list[Turn] = [
        {"calls": [call("c1", "bash", **COUNT), call("c2", "bash", command="echo hello")]},
        done,
        {"calls": [call("c3", "bash", **COUNT), call("c4", "bash", command="echo hello")]},
        done,
    ]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    client.initialize(options={})
    session = client.session(tmp_path / "ws", f"scripted/{script}")
    client.ask("p1", names.PROMPT, sessionId=session, text="Go")
    client.notify(
        "workspace/didChangeConfiguration",
        settings={
            "pilothouse": {"tools.outputLines": 2, "permissions": {"commands": {"echo hello": "deny"}}}
        },
    )
    client.ask("p2", names.PROMPT, sessionId=session, text="Go on")

    whole, hello, cut, denied = results(client)
    assert (whole, hello) == ("1\n2\n3\n4", "hello")
    assert ("line left out" in cut, denied.startswith("Denied: ")) == (True, True)
