"""A growing history is written once: what goes out is the same as if all of it were written anew."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.messages import (
    ImageBlock,
    MessageStop,
    ModelMessage,
    TextBlock,
    ToolCall,
    UserBlock,
)
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.models.chat_dialect import ChatDialect
from pilothouse_agent.models.chat_request import ChatRequests
from support.asking import assistant, model_request, tool_result, user

DIALECTS = [ChatDialect(), ChatDialect(alternating=True, user_after_tool=False)]
IDS = st.sampled_from(["c1", "c2", "c3"])
STOPS: list[MessageStop] = ["stop", "toolUse", "refusal", "error"]

bits: st.SearchStrategy[UserBlock] = st.sampled_from([TextBlock("Hi"), ImageBlock("image/png", "iVBO")])
calls = st.builds(ToolCall, IDS, st.just("read"), st.just({}))
messages: st.SearchStrategy[ModelMessage] = st.one_of(
    st.lists(bits, max_size=2).map(lambda blocks: user(*blocks)),
    st.tuples(st.lists(st.just("text") | calls, max_size=2), st.sampled_from(STOPS)).map(
        lambda made: assistant(*made[0], stop=made[1])
    ),
    st.tuples(IDS, st.lists(bits, max_size=2)).map(lambda made: tool_result(made[0], *made[1])),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[ModelRequest]:
    """Requests that mostly go on from the one before; some go back, some change models or begin anew."""
    history: list[ModelMessage] = []
    requests: list[ModelRequest] = []
    for _ in range(draw(st.integers(1, 6))):
        history = [*history[: draw(st.sampled_from([99, 99, 1, 0]))], *draw(st.lists(messages, max_size=4))]
        model = draw(st.sampled_from(["openai-chat/m", "openai-chat/m", "openai-chat/n"]))
        requests.append(model_request(*history, model=model, system="Be brief."))
    return requests


@pytest.mark.parametrize("dialect", DIALECTS, ids=["usual", "strict"])
@settings(max_examples=150, deadline=None)
@given(conversations())
def test_a_request_says_the_same_whatever_was_asked_before(
    dialect: ChatDialect, requests: list[ModelRequest]
) -> None:
    writer = ChatRequests(dialect)

    sent = [writer.body(request, model="m") for request in requests]

    assert sent == [ChatRequests(dialect).body(request, model="m") for request in requests]
