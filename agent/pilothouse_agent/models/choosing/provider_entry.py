"""What settings may say of a provider, and of its models."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from pydantic import Field

from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.entry import Entry
from pilothouse_agent.models.setting_types import Count, Flag, Money, Seconds, Text, Texts

__all__ = ["FormatName", "ModelEntry", "ProviderEntry", "is_variable"]

FormatName: TypeAlias = Literal["openai", "openai-chat", "anthropic"]

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")


class ModelEntry(Entry):
    """What the user says of a model. Prices in US dollars for a million tokens."""

    context_window: Count | None = None
    """Tokens."""
    max_output: Count | None = None
    """Tokens, also the most an answer may have."""
    images: Flag | None = None
    thinking: Flag | None = None
    input_price: Money | None = None
    output_price: Money | None = None
    cache_read_price: Money | None = None
    cache_write_price: Money | None = None


class ProviderEntry(Entry):
    """An entry of a preset's name changes the preset field by field."""

    format: FormatName | None = None
    """`openai` is the Responses API, `openai-chat` Chat Completions (the usual one), `anthropic` Messages."""
    base_url: Text | None = None
    key: Text | None = None
    """The variable that holds it; or the key itself, in the user's own file only."""
    headers: dict[str, Text] = Field(default_factory=dict[str, str])
    """Sent with each request; `$NAME` stands for the variable of that name."""
    models: dict[str, ModelEntry] = Field(default_factory=dict[str, ModelEntry])
    """By name, as the server knows them."""
    dialect: ChatDialect = ChatDialect()
    key_command: Texts = ()
    """Prints the key; in the user's own file only."""
    connect_timeout: Seconds | None = None
    idle_timeout: Seconds | None = None
    """The longest silence within an answer."""


def is_variable(text: str) -> bool:
    """Whether a text names an environment variable, such as `OPENAI_API_KEY`; keys never look like that."""
    return _VARIABLE.match(text) is not None
