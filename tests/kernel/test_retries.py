"""Failures that are worth another try, and those that are not (L7)."""

from __future__ import annotations

from random import Random

import pytest

from pilothouse_agent.kernel.events import AgentEnd, RetryScheduled
from pilothouse_agent.kernel.messages import ErrorInfo, ErrorKind, Usage
from pilothouse_agent.kernel.request import Delta, Failed
from pilothouse_agent.kernel.retry import BackOff
from support.kernel import asks, bench, call, echo_tool, fails, says

BUSY = fails("overloaded", "busy", retryable=True, status=529)
CUT = fails("connectionLost", "cut", retryable=True)


@pytest.mark.covers("L7", "E3", "S2", "K78")
async def test_temporary_failures_are_waited_out_inside_one_turn() -> None:
    b = bench([BUSY], [fails("serverError", "503", retryable=True)], says("ok"))

    result = await b.run("Hi")

    assert b.lines == [
        "AS",
        "PH idle→turn",
        "TS1",
        "MS(U)",
        "ME(U,Hi)",
        "PH turn→retry",
        "RS 1/3 2000",
        "PH retry→turn",
        "PH turn→retry",
        "RS 2/3 4000",
        "PH retry→turn",
        "MS(A)",
        "MU:ok",
        "ME(A,stop)",
        "TE1",
        "PH turn→idle",
        "AE completed",
    ]
    assert (b.clock.sleeps, b.shown, result.error) == ([2, 4], ["U:Hi", "A:ok"], None)
    assert b.model.shown == [["U:Hi"]] * 3


@pytest.mark.covers("L7", "K79", "A3")
async def test_after_three_retries_the_last_failure_ends_the_run() -> None:
    last = fails("overloaded", "still busy", retryable=True)
    b = bench([BUSY], [BUSY], [BUSY], [last], says("never"))

    result = await b.run("Hi")

    assert b.clock.sleeps == [2, 4, 8]
    assert b.lines[-5:] == ["MS(A)", "ME(A,error)", "TE1", "PH turn→idle", "AE error"]
    assert (result.error, b.agent.state.error_message) == (last.error, "still busy")
    assert len(b.model.requests) == 4


@pytest.mark.covers("L7", "K78")
async def test_a_finished_message_begins_the_count_anew() -> None:
    b = bench([BUSY], [BUSY], asks(call("c1", "echo")), [BUSY], says("ok"), tools=[echo_tool()])

    await b.run("Hi")

    assert [event.attempt for event in b.events.of(RetryScheduled)] == [1, 2, 1]


@pytest.mark.covers("L7")
async def test_a_message_that_broke_off_does_not_begin_the_count_anew() -> None:
    b = bench([BUSY], [BUSY], [Delta("text", 0, "par"), CUT], [BUSY], [BUSY], says("never"))

    result = await b.run("Hi")

    waits = [(event.attempt, event.reason) for event in b.events.of(RetryScheduled)]
    assert waits == [(1, "busy"), (2, "busy"), (1, "cut"), (3, "busy")]
    assert (result.stop_reason, len(b.model.requests)) == ("error", 5)


@pytest.mark.covers("L7", "K80", "K82", "R161", "W161")
@pytest.mark.parametrize(
    "kind", ["auth", "permission", "quota", "invalidRequest", "modelNotFound", "contentFilter", "unknown"]
)
async def test_lasting_failures_are_told_at_once(kind: ErrorKind) -> None:
    failure = fails(kind, "quota exhausted, resets at noon; rate limit 429, please retry")
    b = bench([failure], says("never"))

    result = await b.run("Hi")

    assert (result.stop_reason, result.error) == ("error", failure.error)
    assert (b.clock.sleeps, len(b.model.requests)) == ([], 1)


@pytest.mark.covers("L7", "R160", "W160")
async def test_a_retry_after_is_waited_for_in_full_and_told() -> None:
    limited = fails("rateLimit", "slow down", retryable=True, status=429, retry_after=17)
    short = fails("rateLimit", "slow down", retryable=True, status=429, retry_after=0.5)
    b = bench([limited], [short], says("ok"))

    await b.run("Hi")

    assert b.clock.sleeps == [17 + 2, 0.5 + 2]
    assert b.events.of(RetryScheduled) == [
        RetryScheduled(1, 3, 19_000, "slow down"),
        RetryScheduled(2, 3, 2_500, "slow down"),
    ]


@pytest.mark.covers("L7", "R160", "W160")
async def test_a_retry_after_beyond_the_cap_ends_the_run_and_names_the_time() -> None:
    b = bench([fails("rateLimit", "slow down", retryable=True, retry_after=301)], says("never"))

    result = await b.run("Hi")

    assert result.error is not None
    assert (result.error.message, b.clock.sleeps) == ("slow down (retry after 301 s)", [])


@pytest.mark.covers("L7")
def test_the_waits_double_up_to_their_limit_and_end_with_the_attempts() -> None:
    error = ErrorInfo("overloaded", "busy", retryable=True)
    policy = BackOff(attempts=7, jitter=lambda: 1)

    assert [policy.delay(attempt, error) for attempt in range(1, 9)] == [2, 4, 8, 16, 32, 60, 60, None]


@pytest.mark.covers("L7")
@pytest.mark.parametrize(("wait", "delay"), [(1, 1), (3, 3), (100, 100), (300, 300), (300.1, None)])
def test_a_retry_after_counts_in_full_up_to_its_cap(wait: float, delay: float | None) -> None:
    error = ErrorInfo("rateLimit", "slow down", retryable=True, retry_after=wait)

    assert BackOff(jitter=lambda: 0).delay(1, error) == delay


@pytest.mark.covers("R249", "L7")
@pytest.mark.parametrize(
    ("retry_after", "least", "most"), [(None, 0, 8), (7, 7, 9)], ids=["computed", "told by the provider"]
)
def test_of_many_who_fail_at_once_no_two_come_back_at_once(
    retry_after: float | None, least: float, most: float
) -> None:
    error = ErrorInfo("overloaded", "busy", retryable=True, retry_after=retry_after)
    policy = BackOff(jitter=Random(249).random)

    delays = [policy.delay(3, error) or 0 for _ in range(1000)]

    assert len(set(delays)) == 1000
    assert least <= min(delays) < least + 0.1
    assert most - 0.1 < max(delays) <= most


@pytest.mark.covers("R249")
def test_without_a_seed_two_sessions_wait_differently() -> None:
    error = ErrorInfo("overloaded", "busy", retryable=True)

    assert len({BackOff().delay(1, error) for _ in range(100)}) == 100


@pytest.mark.covers("A2", "R164")
async def test_a_refused_request_is_told_and_the_next_prompt_works_with_the_first_in_its_history() -> None:
    b = bench([fails("contentFilter", "This prompt violates our policy.", status=400)], says("ok"))

    result = await b.run("bad")

    assert result.error is not None
    assert (result.stop_reason, result.error.message) == ("error", "This prompt violates our policy.")
    assert (await b.run("good")).text == "ok"
    assert b.model.shown[1] == ["U:bad", "U:good"]


@pytest.mark.covers("R263", "A2")
async def test_the_tokens_of_failed_attempts_count_in_the_result() -> None:
    busy = Failed(BUSY.error, Usage(5, 1))
    cut = Failed(CUT.error, Usage(7, 2))
    b = bench(
        [busy],
        [Delta("text", 0, "par"), cut],
        asks(call("c1", "echo"), usage=Usage(20, 4)),
        [Failed(ErrorInfo("auth", "no key"), Usage(40, 0))],
        tools=[echo_tool()],
    )

    result = await b.run("Hi")

    assert (result.stop_reason, result.usage) == ("error", Usage(72, 7))
    end = b.events.last
    assert isinstance(end, AgentEnd)
    assert end.usage == Usage(72, 7)
