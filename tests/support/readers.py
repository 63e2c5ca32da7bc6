"""Readers of answers by wire format, fed directly, without a connection."""

from __future__ import annotations

from pilothouse_agent.models.chat_completions.stream import ChatStream
from pilothouse_agent.models.http.answer_reader import AnswerReader
from pilothouse_agent.models.http.errors import Source
from pilothouse_agent.models.messages.stream import AnthropicStream
from pilothouse_agent.models.responses.stream import ResponsesStream

__all__ = ["WIRES", "reader_for"]

WIRES = {"openai-chat": "openai-chat", "openai-responses": "openai", "anthropic-messages": "anthropic"}
"""From the words of the recordings to our providers."""


def reader_for(wire: str, model: str = "p/m") -> AnswerReader:
    """`wire`: a provider of ours, or a word of the recordings."""
    source = Source("p")
    match WIRES.get(wire, wire):
        case "openai-chat":
            return ChatStream(source, model=model, names={})
        case "openai":
            return ResponsesStream(source, model=model, names={})
        case _:
            return AnthropicStream(source, model=model, names={})
