"""Where chat servers differ. Data for presets; `chat_request` obeys it, and `chat_stream` in one point."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pilothouse_agent.models.entry import Entry
from pilothouse_agent.models.setting_types import Flag

__all__ = ["ChatDialect"]


class ChatDialect(Entry):
    """The defaults are what most servers take."""

    token_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Names the output limit, which is sent only where the user set one (`ModelTraits.output_cap`)."""
    system_role: Literal["system", "developer"] = "system"
    thinking_field: Literal["reasoning_effort", "reasoning", "none"] = "reasoning_effort"
    """How a thinking level is asked for: as a word, as `{"reasoning": {"effort": …}}`, or not at all."""
    thinking_off: Literal["both", "template", "effort"] = "both"
    """How models that think of themselves are told not to: by `chat_template_kwargs`, by the effort
    `none`, or by `enable_thinking` and the first together, since servers differ.
    """
    thinking_switch: Flag = False
    """Its models think unless told not to: `{"thinking": {"type": "disabled"}}`, or enabled, goes along."""
    reasoning_back: Literal["as it came", "always", "never"] = "as it came"
    """Whether `reasoning_content` goes back: beside calls if the model sent it, on every answer, never."""
    alternating: Flag = False
    """User and assistant must take turns, the user first: neighbours of one role are merged."""
    user_after_tool: Flag = True
    """A user message may follow a tool result; else a short assistant message goes between."""
    nine_letter_ids: Flag = False
    """Call ids are nine ASCII letters and digits."""
    tool_schema: Literal["full", "reduced"] = Field(default="full", alias="schema")
    """reduced: no references, no unions of types, only the keywords that Gemini knows."""
    usage_option: Flag = True
    """Takes `stream_options`."""
    cache_marks: Literal["none", "claude"] = "none"
    """claude: requests to models of that name have marks for the prompt cache of their maker."""
    states_cost: Flag = False
    """`cost` in the usage of its answers is what was charged for them, in US dollars."""
