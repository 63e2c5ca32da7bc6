"""The client against a server that nobody here wrote: llama.cpp's, with a model that says one thing."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.request import ToolSpec
from support.asking import Seen, ask, assistant, failure, model_request, seen, tool_result, user
from support.providers import registry
from support.tiny_gguf import write_model

pytestmark = [
    pytest.mark.realserver,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llama_cpp") is None,
        reason="llama-cpp-python is not installed: pip install -e '.[realserver]' builds it in some minutes",
    ),
]

MODEL = "llamacpp/tiny"
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
_START = 50.0
"""Seconds."""


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """Of a server that is ready to answer."""
    model = tmp_path / "tiny.gguf"
    await asyncio.to_thread(write_model, model, "Hi!")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    options = {"--model": str(model), "--model_alias": "tiny", "--n_ctx": "512", "--port": port}
    arguments = [part for option in options.items() for part in option]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "llama_cpp.server", *arguments, "--host", "127.0.0.1"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    lines: list[bytes] = []
    draining: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(_START):
            async for line in process.stderr:
                lines.append(line)
                if b"Uvicorn running" in line:
                    break
        assert process.returncode is None, b"".join(lines).decode("utf-8", "replace")
        draining = asyncio.create_task(_drain(process.stderr))
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        if draining is not None:
            await draining


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        pass


async def test_a_real_server_answers_refuses_and_is_left_in_the_middle(address: str) -> None:
    """One story, since the server takes a while to start."""
    settings = {"llamacpp": {"models": {"short": {"maxOutput": 2}}}}
    async with registry(settings, {"LLAMACPP_BASE_URL": address}) as models:
        plain = await ask(models, model_request(user("Hello"), system="Be brief.", model=MODEL))
        assert seen(plain) == Seen("Hi!")

        capped = seen(await ask(models, model_request(user("Hello"), model="llamacpp/short")))
        assert (capped.text, capped.end) == ("Hi", "length")

        turn = assistant("Reading.", ToolCall("c1", "read_file", {"path": "ä.py"}), model=MODEL)
        history = (user("Read it"), turn, tool_result("c1", "x = 1 # 😋"), user("And?"))
        assert seen(await ask(models, model_request(*history, tools=(READ,), model=MODEL))).text == "Hi!"

        # A prompt beyond its window is answered with 200 and nothing.
        error = failure(await ask(models, model_request(user("word " * 600), model=MODEL)))
        assert (error.kind, error.retryable) == ("incompleteStream", True)

        stream = models.stream(model_request(user("Hello"), model=MODEL))
        async with asyncio.timeout(5):
            await anext(stream)
            await stream.aclose()
        assert seen(await ask(models, model_request(user("Hello"), model=MODEL))).text == "Hi!"
