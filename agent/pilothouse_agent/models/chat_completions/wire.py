"""The format `openai-chat`: Chat Completions of OpenAI and of the many servers compatible with it."""

from __future__ import annotations

from functools import partial

from pilothouse_agent.models.chat_completions.concessions import CONCESSIONS
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.chat_completions.stream import ChatStream
from pilothouse_agent.models.http.wire_format import WireFormat

__all__ = ["chat_completions"]


def chat_completions(dialect: ChatDialect) -> WireFormat:
    return WireFormat(
        paths=("/chat/completions",),
        home="api.openai.com",
        writer=ChatRequests(dialect),
        reader=partial(ChatStream, states_cost=dialect.states_cost),
        concessions=CONCESSIONS,
    )
