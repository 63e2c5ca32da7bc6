"""One list of turns, played by the scripted model or by a Chat Completions server on the loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.chat_turns import chat_answer
from support.model_server import ModelServer

__all__ = ["MODELS", "Model", "Turn", "call"]

Turn: TypeAlias = dict[str, Any]
Playing: TypeAlias = tuple[str, dict[str, str]]
"""The model's id, and the variables that lead to it."""
Model: TypeAlias = Callable[[list[Turn], Path], AbstractAsyncContextManager[Playing]]


@asynccontextmanager
async def scripted(turns: list[Turn], folder: Path) -> AsyncGenerator[Playing]:
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    yield f"scripted/{script}", {}


@asynccontextmanager
async def over_http(turns: list[Turn], folder: Path) -> AsyncGenerator[Playing]:
    async with ModelServer(*map(chat_answer, turns)) as server:
        yield "openai-chat/x", {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}


MODELS = [pytest.param(scripted, id="scripted"), pytest.param(over_http, id="openai-chat")]


def call(call_id: str, name: str, **arguments: Any) -> Turn:
    return {"id": call_id, "name": name, "arguments": arguments}
