"""What a session's start does not need is not loaded for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PYGLS = ["pygls", "lsprotocol", "cattrs"]
LATER = [
    *["PIL", "httpx", "httpcore", "genai_prices", "keyring", "platformdirs"],
    *["pilothouse_server.chat.plain_door", "pilothouse_agent.models.http.connection"],
]
LOAD = """
import sys
import pilothouse_server.{part}
print(*sorted(set(sys.argv[1:]) & sys.modules.keys()))
"""


@pytest.mark.slow
@pytest.mark.covers("R308")
@pytest.mark.parametrize(("part", "loads"), [("serving", []), ("server", PYGLS)])
def test_a_session_loads_pygls_with_its_server_and_nothing_that_only_some_prompts_need(
    part: str, loads: list[str]
) -> None:
    command = [sys.executable, "-P", "-c", LOAD.format(part=part), *PYGLS, *LATER]

    loaded = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True).stdout.split()

    assert loaded == sorted(loads)
