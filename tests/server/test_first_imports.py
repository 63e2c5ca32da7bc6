"""What a session's start does not need is not loaded for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATER = [
    *["PIL", "httpx", "httpcore", "genai_prices", "pygls", "lsprotocol", "keyring", "platformdirs"],
    *["pilothouse_server.chat.plain_door", "pilothouse_agent.models.http.connection"],
]
LOAD = """
import sys
import pilothouse_server.{part}
print(*sorted(set(sys.argv[1:]) & sys.modules.keys()))
"""


@pytest.mark.slow
@pytest.mark.covers("R308")
@pytest.mark.parametrize("part", ["server", "agent_side"])
def test_the_parts_of_a_session_load_nothing_that_only_some_prompts_need(part: str) -> None:
    command = [sys.executable, "-P", "-c", LOAD.format(part=part), *LATER]

    loaded = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True).stdout.split()

    assert loaded == []
