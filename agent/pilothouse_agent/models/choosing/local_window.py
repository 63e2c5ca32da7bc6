"""How much a model of a server on the user's own machine can be told at once: less than it could, mostly.

What such a server takes in depends on how it was started, and some cut off silently what is more.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.choosing.near_server import asked
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.http.token_counts import Path, first_count

__all__ = ["asks_window", "local_window", "too_small"]

_ENOUGH = 16_384
"""Tokens: instructions and tools take two to three thousand, a file read or two and an answer the rest."""
_ADVISED = 32_768
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_LISTED: tuple[Path, ...] = (("max_model_len",), ("context_length",), ("meta", "n_ctx"))

_REMEDIES: Mapping[str, str] = {
    "ollama": f"start Ollama with OLLAMA_CONTEXT_LENGTH={_ADVISED}, or give the model a num_ctx of its own",
    "llamacpp": f"start llama-server with -c {_ADVISED}",
    "lmstudio": f"load the model with `lms load --context-length {_ADVISED}`",
    "vllm": f"start vLLM with --max-model-len {_ADVISED}",
}
_Asking = Callable[[ProviderConfig, str, str], Awaitable[int | None]]


def asks_window(config: ProviderConfig) -> bool:
    """Whether it is a server that can be asked."""
    return config.name in _REMEDIES


async def local_window(config: ProviderConfig, name: str, key: str) -> int | None:
    """The window of the model of this name, in tokens, as the server has it now; None: it does not say.

    Raises `NobodyAnswers`.
    """
    return await _ASKING[config.name](config, name, key)


def too_small(config: ProviderConfig, model: str, window: int | None) -> str | None:
    """That the window is too small to work with, and what to set, as a sentence."""
    if window is None or window >= _ENOUGH:
        return None
    return (
        f"{model} takes in {window:,} tokens, which instructions, tools and a file or two fill: "
        f"{_REMEDIES[config.name]}."
    )


async def _ollama(config: ProviderConfig, name: str, key: str) -> int | None:
    """A model that runs has the window it was loaded with; one that does not may name its own."""
    root = _root(config)
    running, shown = await asyncio.gather(
        asked(config, f"{root}/api/ps", key),
        asked(config, f"{root}/api/show", key, body={"model": name}),
    )
    for entry in _entries(running, "models"):
        if name in _spellings(entry) and (loaded := first_count(entry, ("context_length",))):
            return loaded
    parameters = shown.get("parameters") if isinstance(shown, dict) else None
    own = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return int(own[1]) if own else None


async def _llamacpp(config: ProviderConfig, name: str, key: str) -> int | None:
    value = await asked(config, f"{_root(config)}/props", key)
    if isinstance(value, dict) and (
        window := first_count(value, ("default_generation_settings", "n_ctx"), ("n_ctx",))
    ):
        return window
    return await _listed(config, name, key)


async def _lmstudio(config: ProviderConfig, name: str, key: str) -> int | None:
    value = await asked(config, f"{_root(config)}/api/v0/models", key)
    for entry in _entries(value, "data"):
        if entry.get("id") == name:
            return first_count(entry, ("loaded_context_length",))
    return None


async def _listed(config: ProviderConfig, name: str, key: str) -> int | None:
    value = await asked(config, f"{config.address.rstrip('/')}/models", key)
    entries = _entries(value, "data")
    named = [entry for entry in entries if entry.get("id") == name] or entries[:1]
    return next((window for entry in named if (window := first_count(entry, *_LISTED))), None)


_ASKING: Mapping[str, _Asking] = {
    "ollama": _ollama,
    "llamacpp": _llamacpp,
    "lmstudio": _lmstudio,
    "vllm": _listed,
}


def _root(config: ProviderConfig) -> str:
    """Where the server's own questions are asked, beside those of other formats."""
    return config.address.rstrip("/").removesuffix("/v1")


def _entries(value: JsonValue, name: str) -> list[JsonObject]:
    listed = value.get(name) if isinstance(value, dict) else None
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _spellings(entry: JsonObject) -> set[str]:
    """`latest` need not be said."""
    names = {text for field in ("name", "model") if isinstance(text := entry.get(field), str)}
    return names | {text.removesuffix(":latest") for text in names}
