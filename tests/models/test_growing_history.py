"""A growing history is written once: what goes out is the same as if all of it were written anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.messages import (
    ImageBlock,
    MessageStop,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.history.by_session import BySession
from pilothouse_agent.models.history.continuation import Continuation
from pilothouse_agent.models.http.wire_format import RequestWriter
from pilothouse_agent.models.messages.request import AnthropicRequests
from pilothouse_agent.models.model_traits import ModelTraits
from pilothouse_agent.models.responses.request import ResponsesRequests
from support.asking import TIME, assistant, model_request, tool_result, user

IDS = st.sampled_from(["c1", "c2", "c3"])
MODELS = st.sampled_from(["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "openai/gpt-5.2"])
STOPS: list[MessageStop] = ["stop", "toolUse", "refusal", "error"]
THOUGHTS = [
    ThinkingBlock("Hm.", "signed", {"model": "anthropic/claude-sonnet-4-5"}, "anthropic"),
    ThinkingBlock(
        "Hm.",
        data={"model": "openai/gpt-5.2", "item": {"type": "reasoning", "encrypted_content": "sealed"}},
        origin="openai",
    ),
]

bits: st.SearchStrategy[UserBlock] = st.sampled_from([TextBlock("Hi"), ImageBlock("image/png", "iVBO")])
calls = st.builds(ToolCall, IDS, st.just("read"), st.just({}))
blocks = st.just("text") | st.sampled_from(THOUGHTS) | calls
messages: st.SearchStrategy[ModelMessage] = st.one_of(
    st.lists(bits, max_size=2).map(lambda blocks: user(*blocks)),
    st.tuples(st.lists(blocks, max_size=2), st.sampled_from(STOPS)).map(
        lambda made: assistant(*made[0], stop=made[1])
    ),
    st.tuples(IDS, st.lists(bits, max_size=2)).map(lambda made: tool_result(made[0], *made[1])),
)


CONCEDED = {"images": "", "image count": "1", "thoughts": "", "reasoning wanted": "", "cache marks": ""}


class Asked(NamedTuple):
    request: ModelRequest
    conceded: Mapping[str, str]


@st.composite
def conversations(draw: st.DrawFn) -> list[Asked]:
    """Requests that mostly go on from the one before; some go back, some change models or begin anew."""
    history: list[ModelMessage] = []
    asked: list[Asked] = []
    for _ in range(draw(st.integers(1, 6))):
        history = [*history[: draw(st.sampled_from([99, 99, 1, 0]))], *draw(st.lists(messages, max_size=4))]
        request = model_request(
            *history,
            model=draw(MODELS),
            session_id=draw(st.sampled_from(["s1", "s1", "s2"])),
            system="Be brief.",
            thinking="low",
        )
        conceded = draw(st.sampled_from(["", "", "", *CONCEDED]))
        asked.append(Asked(request, {conceded: CONCEDED[conceded]} if conceded else {}))
    return asked


def _writers() -> dict[str, RequestWriter]:
    """New ones, which have not written anything."""
    strict = ChatDialect(alternating=True, user_after_tool=False)
    return {
        "openai": ResponsesRequests(),
        "openai-chat": ChatRequests(),
        "strict chat": ChatRequests(strict),
        "marked chat": ChatRequests(ChatDialect(cache_marks="claude")),
        "anthropic": AnthropicRequests(),
    }


def _body(writer: RequestWriter, asked: Asked) -> bytes:
    model = asked.request.model.partition("/")[2]
    return writer.body(asked.request, model=model, traits=ModelTraits(), conceded=asked.conceded)


@pytest.mark.parametrize("wire", _writers())
@settings(max_examples=150, deadline=None)
@given(conversations())
def test_a_request_says_the_same_whatever_was_asked_before(wire: str, conversation: list[Asked]) -> None:
    writer = _writers()[wire]

    sent = [_body(writer, asked) for asked in conversation]

    assert sent == [_body(_writers()[wire], asked) for asked in conversation]


class _Watched(tuple[UserBlock, ...]):
    """Content that counts how often it is looked through."""

    looks = 0

    def __iter__(self) -> Iterator[UserBlock]:
        self.looks += 1
        return super().__iter__()


@pytest.mark.parametrize("wire", _writers())
def test_a_message_that_was_sent_before_is_not_looked_at_again(wire: str) -> None:
    writer, content = _writers()[wire], _Watched((TextBlock("Look into it."),))
    history: list[ModelMessage] = [UserMessage("u", content, TIME)]
    first = _body(writer, Asked(model_request(*history), {}))
    looks = content.looks

    history += [assistant(ToolCall("c1", "read", {}), stop="toolUse"), tool_result("c1", "There.")]
    second = _body(writer, Asked(model_request(*history), {}))

    assert looks > 0
    assert content.looks == looks
    assert first.count(b"Look into it.") == second.count(b"Look into it.") == 1


@pytest.mark.covers("R222")
@pytest.mark.parametrize("wire", _writers())
def test_sessions_that_take_turns_do_not_have_each_other_looked_through_again(wire: str) -> None:
    writer = _writers()[wire]
    looked = {session: _Watched((TextBlock("Look into it."),)) for session in ("s1", "s2")}
    histories: dict[str, list[ModelMessage]] = {
        session: [UserMessage("u", content, TIME)] for session, content in looked.items()
    }
    seen: list[int] = []
    for turn in range(3):
        for session, history in histories.items():
            _body(writer, Asked(model_request(*history, session_id=session), {}))
            history += [assistant(ToolCall(f"c{turn}", "read", {})), tool_result(f"c{turn}", "There.")]
        seen.append(sum(content.looks for content in looked.values()))
    assert seen == [seen[0]] * 3


@pytest.mark.covers("R222")
def test_what_is_kept_of_a_session_goes_some_time_after_its_last_request() -> None:
    now = 0.0
    kept = BySession(list[str], now=lambda: now)
    first = kept.of("s1")
    now = 800.0
    assert (kept.of("s2") is first, kept.of("s1") is first, len(kept)) == (False, True, 2)
    now = 1_600.0
    kept.of("s1")
    now = 2_000.0
    kept.of("s3")
    assert (kept.of("s1") is first, len(kept)) == (True, 2)


class _Pages:
    """Notes what it is given, and fails on what has no content."""

    def __init__(self) -> None:
        self.added: list[ModelMessage] = []

    def add(self, message: ModelMessage) -> None:
        if not message.content:
            raise ValueError("empty")
        self.added.append(message)


def test_only_what_is_new_is_added_while_the_history_grows_under_one_key() -> None:
    written = Continuation[_Pages]()
    begun: list[_Pages] = []

    def begin() -> _Pages:
        begun.append(_Pages())
        return begun[-1]

    def pages(history: list[ModelMessage], key: str = "model") -> list[ModelMessage]:
        return written.of(history, key, begin).added

    one, two, other = user("one"), user("two"), user("other")

    assert [*pages([one])] == [one]
    assert [*pages([one, two])] == [one, two]
    assert len(begun) == 1
    assert [*pages([one, other])] == [one, other]
    assert [*pages([one, other], "another model")] == [one, other]
    assert len(begun) == 3


def test_what_failed_halfway_is_begun_anew() -> None:
    written = Continuation[_Pages]()
    good = user("good")
    with pytest.raises(ValueError, match="empty"):
        written.of([good, user()], "model", _Pages)

    assert written.of([good], "model", _Pages).added == [good]
