"""What becomes of messages that come before, during and just after a run (design.md, Requests and runs)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.events import AgentEnd, Event, MessageEnd, Notice, PhaseChange
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, TextBlock, UserBlock, UserMessage, text_of
from pilothouse_agent.kernel.parts import RunChoices
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import Delta, Finished
from pilothouse_agent.kernel.run import Run
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AbortOutcome, AgentSession, Delivery, Started
from support.kernel import Bench, FakeTool, Gate, asks, bench, block, call, says, soon


def session_of(b: Bench, use_mode: Callable[[ApprovalMode], None] = lambda mode: None) -> AgentSession:
    async def release() -> None:
        pass

    return AgentSession("s1", b.agent, cwd="/w", mode=ApprovalMode.ASK, release=release, use_mode=use_mode)


@pytest.mark.covers("Q2")
async def test_steering_an_idle_session_starts_a_run_that_delivers_it() -> None:
    b = bench(says("ok"))
    session = session_of(b)

    delivery = session.steer(block("look here"))
    await soon(b.agent.wait_for_idle())

    message = b.agent.state.messages[0]
    assert isinstance(message, UserMessage)
    assert (message.queue_id, text_of(message.content)) == (delivery.queue_id, "look here")
    assert delivery.delivery == "prompted"


@pytest.mark.covers("Q1")
async def test_during_a_run_steering_and_follow_ups_are_queued_for_it() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "a"), gate, Finished("stop")], says("b"), says("c"))
    session = session_of(b)
    started = session.prompt(block("go"))
    await gate.arrival()

    steered = session.steer(block("S"))
    queued = session.follow_up(block("F"))
    gate.open()
    await soon(started.result)

    assert (steered.delivery, steered.run_id) == ("steered", started.run_id)
    assert (queued.delivery, queued.run_id) == ("queued", started.run_id)
    assert b.shown == ["U:go", "A:a", "U:S", "A:b", "U:F", "A:c"]


@pytest.mark.covers("Q2")
async def test_steering_while_the_run_is_ending_starts_the_next_one() -> None:
    b = bench(says("first"), says("second"))
    session = session_of(b)
    deliveries: list[Delivery] = []

    def steer_at_the_end(event: Event) -> None:
        if isinstance(event, AgentEnd) and not deliveries:
            deliveries.append(session.steer(block("one")))
            deliveries.append(session.steer(block("two")))

    b.agent.subscribe(steer_at_the_end)
    await soon(session.prompt(block("go")).result)
    await soon(session.settled())

    assert [delivery.delivery for delivery in deliveries] == ["prompted", "prompted"]
    assert deliveries[0].run_id == deliveries[1].run_id
    assert b.shown == ["U:go", "A:first", "U:one", "U:two", "A:second"]


@pytest.mark.covers("A1", "E2")
async def test_a_prompt_after_agent_end_waits_for_the_slot() -> None:
    b = bench(says("first"), says("second"))
    session = session_of(b)
    following: list[str] = []

    def prompt_at_the_end(event: Event) -> None:
        if isinstance(event, AgentEnd) and not following:
            started = session.prompt(block("again"))
            following.append(started.run_id)
            with pytest.raises(AgentBusy):
                session.prompt(block("and again"))

    b.agent.subscribe(prompt_at_the_end)
    await soon(session.prompt(block("go")).result)
    await soon(session.settled())

    assert b.shown == ["U:go", "A:first", "U:again", "A:second"]
    assert b.lines.count("AS") == 2


@pytest.mark.covers("A1", "R103", "R104", "K97")
async def test_of_ten_prompts_at_once_one_runs_and_nine_are_told_busy() -> None:
    b = bench(says("ok"))
    session = session_of(b)

    started = session.prompt(block("0"))
    for number in range(1, 10):
        with pytest.raises(AgentBusy):
            session.prompt(block(str(number)))

    assert (await soon(started.result)).text == "ok"


@pytest.mark.covers("A5", "Q3", "R100", "K72")
async def test_an_abort_returns_what_was_queued_and_the_next_prompt_works() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "a"), gate, Finished("stop")], says("fine"))
    session = session_of(b)
    started = session.prompt(block("go"))
    await gate.arrival()
    steered, queued = session.steer(block("S")), session.follow_up(block("F"))

    outcome = await soon(session.abort())
    result = await soon(started.result)
    again = await soon(session.prompt(block("next")).result)

    assert (outcome.aborted, outcome.run_id) == (True, started.run_id)
    assert [item.queue_id for item in outcome.returned] == [steered.queue_id, queued.queue_id]
    assert (result.stop_reason, result.returned) == ("aborted", outcome.returned)
    assert again.text == "fine"


@pytest.mark.covers("A5", "K68")
async def test_aborting_an_idle_session_does_nothing() -> None:
    session = session_of(bench())

    assert await soon(session.abort()) == AbortOutcome(aborted=False)


@pytest.mark.covers("A5")
async def test_an_abort_does_not_reach_a_prompt_that_comes_after_it() -> None:
    b = bench(says("first"), says("second"))
    session = session_of(b)
    later: list[Started] = []

    def abort_and_prompt(event: Event) -> None:
        if isinstance(event, AgentEnd) and not later:
            aborts.append(session.abort())
            later.append(session.prompt(block("again")))

    aborts: list[asyncio.Task[AbortOutcome]] = []
    b.agent.subscribe(abort_and_prompt)
    first = await soon(session.prompt(block("go")).result)

    assert (first.text, (await soon(later[0].result)).text) == ("first", "second")
    assert (await soon(aborts[0])).aborted is False


@pytest.mark.covers("A5", "K69")
async def test_an_abort_reaches_a_run_that_is_only_promised() -> None:
    b = bench(says("first"), says("never sent"))
    session = session_of(b)
    aborts: list[asyncio.Task[AbortOutcome]] = []

    def prompt_and_abort(event: Event) -> None:
        if isinstance(event, AgentEnd) and not aborts:
            session.prompt(block("again"))
            aborts.append(session.abort())

    b.agent.subscribe(prompt_and_abort)
    await soon(session.prompt(block("go")).result)
    await soon(session.settled())

    assert (await soon(aborts[0])).aborted is True
    assert len(b.model.requests) == 1
    assert b.lines[-1] == "AE aborted"


@pytest.mark.covers("R201")
async def test_what_a_prompt_chooses_holds_for_its_run_and_no_longer() -> None:
    b = bench(says("first"), says("second"))
    modes: list[ApprovalMode] = []
    session = session_of(b, modes.append)
    choices = RunChoices("other", "high")

    await soon(session.prompt(block("go"), choices=choices, mode=ApprovalMode.NONE).result)
    await soon(session.settled())
    await soon(session.prompt(block("again")).result)

    asked = [(request.model, request.thinking) for request in b.model.requests]
    assert asked == [("other", "high"), ("m", "off")]
    assert modes == [ApprovalMode.NONE, ApprovalMode.ASK]
    assert (b.agent.state.model, b.agent.state.thinking, session.mode) == ("m", "off", ApprovalMode.ASK)


@pytest.mark.covers("R201")
async def test_what_a_promised_prompt_chooses_does_not_reach_the_run_before_it() -> None:
    b = bench(says("first"), says("second"), says("third"))
    modes: list[ApprovalMode] = []
    session = session_of(b, modes.append)
    at_the_end: list[tuple[ApprovalMode, ...]] = []

    def prompt_at_the_end(event: Event) -> None:
        if isinstance(event, AgentEnd) and not at_the_end:
            session.prompt(block("again"), choices=RunChoices("other"), mode=ApprovalMode.ALL)
            at_the_end.append(tuple(modes))

    b.agent.subscribe(prompt_at_the_end)
    await soon(session.prompt(block("go")).result)
    await soon(session.settled())
    session.steer(block("more"))
    await soon(session.settled())

    assert at_the_end == [(ApprovalMode.ASK,)]
    assert modes == [ApprovalMode.ASK, ApprovalMode.ALL, ApprovalMode.ASK]
    assert [request.model for request in b.model.requests] == ["m", "other", "m"]


@pytest.mark.covers("R201")
async def test_the_session_may_choose_anew_during_such_a_run_and_that_counts_after_it() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "a"), gate, Finished("stop")], says("b"), says("c"))
    session = session_of(b)
    started = session.prompt(block("go"), choices=RunChoices("other"))
    await gate.arrival()

    session.agent.set_model("new")
    session.steer(block("S"))
    gate.open()
    await soon(started.result)
    await soon(session.settled())
    await soon(session.prompt(block("again")).result)

    assert [request.model for request in b.model.requests] == ["other", "other", "new"]


def streaming() -> tuple[Bench, Gate]:
    """A run that stops in the middle of its answer; then good answers."""
    gate = Gate()
    return bench([Delta("text", 0, "a"), gate, Finished("stop")], says("second"), says("third")), gate


@pytest.mark.covers("R207", "A5", "E2")
async def test_a_prompt_behind_a_stop_waits_for_the_slot() -> None:
    b, gate = streaming()
    session = session_of(b)
    first = session.prompt(block("go"))
    await gate.arrival()

    stopping, second = session.abort(), session.prompt(block("instead"))
    with pytest.raises(AgentBusy):
        session.prompt(block("one too many"))

    assert (await soon(stopping)).run_id == first.run_id
    assert ((await soon(first.result)).stop_reason, (await soon(second.result)).text) == ("aborted", "second")
    assert b.shown == ["U:go", "A:a (aborted)", "U:instead", "A:second"]
    assert second.run_id == b.events.of(AgentEnd)[1].run_id


@pytest.mark.covers("R207", "Q3")
async def test_of_prompts_and_stops_in_turn_the_last_prompt_runs() -> None:
    b, gate = streaming()
    session = session_of(b)
    session.prompt(block("one"))
    await gate.arrival()

    stops = [session.abort()]
    dropped = session.prompt(block("two"))
    stops.append(session.abort())
    last = session.prompt(block("three"))

    outcomes = [await soon(stop) for stop in stops]
    assert [outcome.aborted for outcome in outcomes] == [True, True]
    assert ((await soon(dropped.result)).stop_reason, (await soon(last.result)).text) == (
        "aborted",
        "second",
    )
    assert b.shown[-2:] == ["U:three", "A:second"]


@pytest.mark.covers("R207")
async def test_steering_behind_a_stop_and_its_prompt_goes_to_that_prompt() -> None:
    b, gate = streaming()
    session = session_of(b)
    session.prompt(block("one"))
    await gate.arrival()

    session.abort()
    second = session.prompt(block("two"))
    delivery = session.steer(block("more"))
    await soon(second.result)

    assert (delivery.delivery, delivery.run_id) == ("prompted", second.run_id)
    assert b.shown[2:] == ["U:two", "U:more", "A:second"]


BLANK: list[tuple[UserBlock, ...]] = [(), block(""), block(" \n"), (TextBlock(""), TextBlock("\t"))]


@pytest.mark.covers("R208")
@pytest.mark.parametrize("content", BLANK, ids=repr)
async def test_a_blank_message_is_refused_at_once_also_while_the_slot_frees(
    content: tuple[UserBlock, ...],
) -> None:
    b, gate = streaming()
    session = session_of(b)
    refused: list[str] = []

    def try_all() -> None:
        for send in (session.prompt, session.steer, session.follow_up):
            with pytest.raises(ValueError, match="The message is empty"):
                send(content)
            refused.append(send.__name__)

    try_all()
    session.prompt(block("go"))
    await gate.arrival()
    session.abort()
    try_all()
    good = session.prompt(block("good"))

    assert ((await soon(good.result)).text, len(refused)) == ("second", 6)


@pytest.mark.covers("R208", "A2")
@pytest.mark.parametrize("error", [RuntimeError("no mode"), SystemExit(3)], ids=["error", "exit"])
async def test_a_promised_run_that_cannot_begin_ends_with_what_was_queued_for_it(
    error: BaseException,
) -> None:
    b, gate = streaming()
    failing = [None, error, None]

    def use_mode(mode: ApprovalMode) -> None:
        if (failed := failing.pop(0)) is not None:
            raise failed

    session = session_of(b, use_mode)
    session.prompt(block("go"))
    await gate.arrival()
    session.abort()

    promised = session.prompt(block("instead"))
    queued = session.steer(block("more"))
    result = await soon(promised.result)
    after = await soon(session.prompt(block("again")).result)

    text = f"The run could not begin: {type(error).__name__}: {error}"
    assert (result.run_id, result.stop_reason) == (promised.run_id, "error")
    assert result.error == ErrorInfo("internal", text)
    assert [item.queue_id for item in result.returned] == [queued.queue_id]
    assert b.events.of(Notice) == [Notice("error", text, "runNotBegun")]
    assert after.text == "second"


@pytest.mark.covers("R208", "A1")
async def test_a_promised_run_waits_for_whoever_was_quicker() -> None:
    b, gate = streaming()
    session = session_of(b)
    session.prompt(block("go"))
    await gate.arrival()
    quick: list[Run] = []

    def intrude(event: Event) -> None:
        if isinstance(event, PhaseChange) and event.target == "idle" and not quick:
            asyncio.get_running_loop().call_soon(try_to)

    def try_to() -> None:
        if b.agent.busy:
            asyncio.get_running_loop().call_soon(try_to)
        else:
            quick.append(b.agent.prompt("quicker"))

    b.agent.subscribe(intrude)
    session.abort()
    promised = session.prompt(block("instead"))

    assert (await soon(promised.result)).stop_reason == "completed"
    assert {line for line in b.shown if line.startswith("U:")} == {"U:go", "U:quicker", "U:instead"}


@pytest.mark.covers("R208", "A1")
async def test_cancelling_who_waits_for_a_promised_run_aborts_it() -> None:
    b, gate = streaming()
    session = session_of(b)
    session.prompt(block("go"))
    await gate.arrival()
    session.abort()
    promised = session.prompt(block("instead"))
    waiting = asyncio.ensure_future(promised.result)
    await asyncio.sleep(0)

    waiting.cancel()
    await soon(session.settled())

    assert (len(b.model.requests), b.lines[-1]) == (1, "AE aborted")


@pytest.mark.covers("R215", "B3", "E1", "E3")
async def test_notes_are_heard_by_listeners_like_any_other_message() -> None:
    b = bench(says("ok"), says("again"))
    session = session_of(b)

    await soon(session.prompt(block("go"), note="The user looks at a.py.").result)
    b.agent.append_custom("mark", "of the application")
    await soon(session.prompt(block("on"), note="The user looks at a.py.").result)

    assert b.lines[:3] == ["MS(C)", "ME(C,context)", "AS"]
    assert [event.message for event in b.events.of(MessageEnd)] == list(b.agent.state.messages)
    assert b.shown == [
        "C context:The user looks at a.py.",
        "U:go",
        "A:ok",
        "C mark:of the application",
        "U:on",
        "A:again",
    ]


class Held:
    """What a session holds; tells when it was given back."""

    def __init__(self, b: Bench) -> None:
        self.lines = b.lines
        self._bench = b

    async def release(self) -> None:
        self.lines = [*self._bench.lines, "released"]


@pytest.mark.covers("A5")
async def test_what_a_session_holds_is_given_back_when_its_run_has_ended() -> None:
    b, gate = streaming()
    held = Held(b)
    session = AgentSession("s1", b.agent, cwd="/w", mode=ApprovalMode.ASK, release=held.release)
    session.prompt(block("go"))
    await gate.arrival()

    await soon(session.close(5))

    assert (held.lines[-2:], session.closed) == (["AE aborted", "released"], True)


@pytest.mark.covers("A5", "T7")
async def test_what_a_session_holds_is_given_back_at_its_limit_when_a_run_does_not_settle() -> None:
    writing, held = Gate(), list[str]()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        with context.committing():
            await writing()
        return ToolResult.text("written")

    async def release() -> None:
        held.append("released")

    b = bench(asks(call("c1", "write")), tools=[FakeTool("write", body)])
    session = AgentSession("s1", b.agent, cwd="/w", mode=ApprovalMode.ASK, release=release)
    session.prompt(block("go"))
    await writing.arrival()

    await soon(session.close(0.01))
    before = (list(held), b.agent.busy)
    writing.open()
    await soon(b.agent.wait_for_idle())

    assert (before, b.shown[-1]) == ((["released"], True), "R c1:written")
