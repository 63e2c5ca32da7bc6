"""Histories of all kinds of models that are kept beside this project, as requests of ours."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    ImageBlock,
    MessageStop,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.request import ModelRequest, ToolSpec
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.messages.request import AnthropicRequests
from pilothouse_agent.models.model_traits import ModelTraits
from pilothouse_agent.models.responses.request import ResponsesRequests
from support.asking import TIME

__all__ = ["body_for", "cases", "history_of", "problems", "request_of"]

STREAMS = Path(__file__).parents[3] / "shared" / "streams"
DIALECTS: dict[str, ChatDialect] = {
    "openai-chat-reasoning": ChatDialect(token_field="max_completion_tokens", system_role="developer"),
    "mistral": ChatDialect(alternating=True, user_after_tool=False, nine_letter_ids=True, usage_option=False),
    "strict-template": ChatDialect(alternating=True, thinking_field="none"),
    "deepseek-thinking": ChatDialect(reasoning_back="always"),
    "gemini-openai": ChatDialect(schema="reduced"),
}
MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5.2"}
"""The names that answer to the data's `claude` and `gpt`."""
OURS = {"anthropic:claude": "anthropic", "openai:gpt": "openai", "deepseek": "openai-chat"}


def cases() -> list[Any]:
    """Each case with each of its targets, as parameters of a test."""
    path = STREAMS / "conversion_cases.json"
    if not path.exists():
        absent = pytest.mark.skip("the shared conversion cases are not beside this project")
        return [pytest.param(None, "", marks=absent)]
    found = json.loads(path.read_bytes())["cases"]
    return [pytest.param(case, to, id=f"{case['id']}-{to}") for case in found for to in case["targets"]]


def problems(body: Any, profile: str) -> list[str]:
    """What a strict provider would refuse in the body."""
    return _rules().problems(body, profile)


@cache
def _rules() -> Any:
    spec = importlib.util.spec_from_file_location("strict_rules", STREAMS / "tools" / "strict_rules.py")
    assert spec is not None
    assert spec.loader is not None
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    return rules


def request_of(case: Any, target: str, messages: list[ModelMessage]) -> ModelRequest:
    tools = tuple(ToolSpec(tool["name"], tool["description"], tool["parameters"]) for tool in case["tools"])
    thinking = "medium" if case["options"].get("thinking") else "off"
    return ModelRequest("s1", "turn", _model(case, target), case["system"], messages, tools, thinking)


def body_for(request: ModelRequest, case: Any, target: str) -> Any:
    options = case["options"]
    traits = ModelTraits(images=options.get("vision", True), output_cap=options.get("max_tokens"))
    name = request.model.partition("/")[2]
    if target.startswith("anthropic"):
        return json.loads(AnthropicRequests().body(request, model=name, traits=traits))
    if target.startswith("responses"):
        return json.loads(ResponsesRequests().body(request, model=name, traits=traits))
    return json.loads(ChatRequests(DIALECTS.get(target)).body(request, model=name, traits=traits))


def history_of(case: Any, target: str) -> list[ModelMessage]:
    return [
        _message(message, f"m{place}", _model(case, target)) for place, message in enumerate(case["history"])
    ]


def _model(case: Any, target: str) -> str:
    provider = "openai" if target.startswith("responses") else target.partition("-thinking")[0]
    return f"{provider}/{case['options'].get('model') or MODELS.get(provider, 'm')}"


def _message(message: Any, identity: str, model: str) -> ModelMessage:
    if message["role"] == "tool":
        content = tuple(_user_block(part) for part in message["parts"])
        failed = message.get("is_error", False)
        return ToolResultMessage(identity, content, TIME, message["call_id"], "read", failed)
    if message["role"] in ("user", "system"):
        return UserMessage(identity, tuple(_user_block(part) for part in message["parts"]), TIME)
    stop: MessageStop = "aborted" if message.get("aborted") else message.get("stop_reason", "stop")
    content = tuple(_assistant_block(part, model) for part in message["parts"])
    return AssistantMessage(identity, content, TIME, model, stop)


def _user_block(part: Any) -> UserBlock:
    if part["type"] == "image":
        return ImageBlock(part["media_type"], part["data"])
    return TextBlock(part["text"])


def _assistant_block(part: Any, model: str) -> AssistantBlock:
    match part["type"]:
        case "text":
            return TextBlock(part["text"])
        case "tool_call":
            extra = part.get("extra_content")
            back = {"extra_content": extra, "model": model} if extra else None
            return ToolCall(part["id"], part["name"], part["arguments"], part.get("arguments_raw"), back)
        case _:
            return _thinking_block(part, model)


def _thinking_block(part: Any, model: str) -> ThinkingBlock:
    """As the readers of ours would have made it of the model's answer."""
    origin = OURS.get(part["origin"], part["origin"])
    data: dict[str, Any] = {"model": model if part["origin"] in OURS else part["origin"]}
    if part["type"] == "redacted_thinking":
        data["block"] = {"type": "redacted_thinking", "data": part["data"]}
    if part.get("encrypted"):
        data["item"] = {"type": "reasoning", "id": part["item_id"], "encrypted_content": part["encrypted"]}
    return ThinkingBlock(part.get("text", ""), part.get("signature"), data, origin)
