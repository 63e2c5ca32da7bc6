"""How models that think unless they are told not to are told so, in a chat request. Data, and a look-up.

What a server refuses of it is not sent to it again.
"""

from __future__ import annotations

import re

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.responses.models import effort

__all__ = ["thinking_off"]

# The first that fits counts. Models that cannot do without are asked for the least they can do.
_LEAST_EFFORTS = (
    (re.compile(r"gemini-2\.5-(?!.*\bpro\b)"), "none"),
    (re.compile(r"gemini-(?:[3-9]|\d\d).*flash"), "minimal"),
    (re.compile(r"gemini-(?:2\.5|[3-9]|\d\d)"), "low"),
    (re.compile(r"gpt-oss"), "low"),
)
_OPENAI = re.compile(r"\bgpt-[5-9]|\bo[134](?:\b|-)|codex")
_HYBRID = re.compile(
    r"qwen-?3(?!.*(?:coder|instruct|embed|thinking))|glm-(?:4\.[5-9]|[5-9])|kimi-k2\.[5-9]|deepseek-(?:v3\.[1-9]|v4)"
)
_LOCAL = re.compile(r"qwen-?3|deepseek-(?:r1|v3\.1)|glm-(?:4\.[5-9]|[5-9])|magistral|nemotron")
"""Models that Ollama can switch; it takes the word for others too."""
_TEMPLATE: JsonObject = {"chat_template_kwargs": {"enable_thinking": False}}


def thinking_off(model: str, dialect: ChatDialect) -> JsonObject:
    """The fields that say it to this model; none where it does not think of itself."""
    name = model.rpartition("/")[2].lower()
    if dialect.thinking_field == "none":
        return {}
    if (word := _effort(name)) is not None:
        if dialect.thinking_field == "reasoning":
            return {"reasoning": {"effort": word}}
        return {"reasoning_effort": word}
    if dialect.thinking_field == "reasoning":
        return {"reasoning": {"enabled": False}} if _HYBRID.search(name) else {}
    match dialect.thinking_off:
        case "effort":
            return {"reasoning_effort": "none"} if _HYBRID.search(name) or _LOCAL.search(name) else {}
        case "template":
            return dict(_TEMPLATE) if _HYBRID.search(name) else {}
        case "both":
            return {"enable_thinking": False, **_TEMPLATE} if _HYBRID.search(name) else {}


def _effort(name: str) -> str | None:
    if _OPENAI.search(name):
        return effort(name, "off")
    return next((word for pattern, word in _LEAST_EFFORTS if pattern.search(name)), None)
