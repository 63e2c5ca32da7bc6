"""What is kept of a history in the form of the wire takes about as much memory as it has bytes."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

_GROWTH = """
import json, os, sys
from pathlib import Path
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.models.{module} import {writer}
from support.asking import assistant, model_request, tool_result, user
from pilothouse_agent.kernel.messages import ToolCall
from support.memory import resident_megabytes

def turn(number):
    call = ToolCall(f"call_{{number}}", "read_file", {{"path": f"src/{{number}}.py"}})
    return assistant(call), tool_result(call.id, str(number) * 60)

writer, history = {writer}(), [user("Go.")]
def send():
    return len(writer.body(model_request(*history), model="m"))

history += [message for number in range(200) for message in turn(number)]
send()
more = [message for number in range(200, 4200) for message in turn(number)]
before, kept = resident_megabytes(os.getpid()), 0
for start in range(0, len(more), 400):
    history += more[start : start + 400]
    kept = send()
print(json.dumps([kept, resident_megabytes(os.getpid()) - before]))
"""
WRITERS = {
    "openai": ("responses.request", "ResponsesRequests"),
    "openai-chat": ("chat_completions.request", "ChatRequests"),
    "anthropic": ("messages.request", "AnthropicRequests"),
}


@pytest.mark.slow
@pytest.mark.covers("R301")
@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for what a process holds")
@pytest.mark.parametrize("wire", WRITERS)
async def test_a_message_that_is_kept_costs_no_more_than_its_bytes_and_its_entry(wire: str) -> None:
    module, writer = WRITERS[wire]
    code = _GROWTH.format(module=module, writer=writer)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    output, _ = await asyncio.wait_for(child.communicate(), 15)
    size, grown = json.loads(output)
    # 8,000 messages; 4 KiB for each of them would be 33 MB.
    assert grown < 4 * size / 1e6 + 8_000 * 600 / 1e6
