"""Whatever model, tools, hooks and user do, a run keeps the rules and leaves a usable agent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from pilothouse_agent.kernel.agent import Agent
from pilothouse_agent.kernel.compaction import DropOldestTurns
from pilothouse_agent.kernel.errors import NotRunning
from pilothouse_agent.kernel.events import AgentEnd, Event, MessageEnd, QueuedItem
from pilothouse_agent.kernel.messages import UserMessage
from pilothouse_agent.kernel.retry import BackOff
from pilothouse_agent.kernel.run import RunResult
from pilothouse_agent.kernel.settings import RunSettings
from support.chaos import Answers, Chaos, Moody, Script, chaos, moody_hooks, tools
from support.footprints import turns_of_the_loop
from support.kernel import Bench, Ids, bench, soon
from support.permissions import FakePermissions
from support.run_rules import check_events, check_pairs, check_stored


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """The kernel logs every failure with its traceback, and here everything fails."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Meddler:
    """A listener that queues, unqueues, aborts and fails when its time has come; keeps account of it."""

    def __init__(self, plan: Chaos, b: Bench) -> None:
        self.queued: list[str] = []
        self.unqueued: list[str] = []
        self.aborted = False
        """While the run could still be aborted."""
        self.returned: list[QueuedItem] = []
        self.requests_at_abort: int | None = None
        self._plan = plan
        self._b = b
        self._count = 0

    def __call__(self, event: Event) -> None:
        due = [happening.action for happening in self._plan.happenings if happening.at == self._count]
        self._count += 1
        for action in due:
            self.act(action)

    def act(self, action: str) -> None:
        agent = self._b.agent
        match action:
            case "abort":
                self.abort()
            case "unqueue":
                self.unqueued += agent.unqueue(self.queued[-1:])
            case "raise":
                raise RuntimeError("a listener broke")
            case _:
                self.queue(action, agent)

    def queue(self, action: str, agent: Agent) -> None:
        text = f"{action} {len(self.queued)}"
        try:
            self.queued.append(agent.steer(text) if action == "steer" else agent.follow_up(text))
        except NotRunning:
            assert agent.ending

    def abort(self) -> None:
        if self._b.agent.busy and not self._b.agent.ending:
            self.aborted = True
        self.returned += self._b.agent.abort()
        if self.requests_at_abort is None:
            self.requests_at_abort = len(self._b.model.requests)

    async def abort_at_step(self) -> None:
        assert self._plan.abort_at_step is not None
        await turns_of_the_loop(self._plan.abort_at_step)
        if self._b.agent.busy:
            self.abort()


@pytest.mark.slow
@pytest.mark.covers(
    "A2", "A3", "A4", "A5", "E1", "E2", "E3", "L2", "L3", "Q3", "S1", "S3", "T6", "T8", "K12", "K13", "K14"
)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chaos())
async def test_every_run_keeps_the_rules(plan: Chaos) -> None:
    script, moody = Script(plan.turns), Moody(plan.moods)
    ids = Ids()
    b = bench(
        *[script.play] * 100,
        tools=tools(),
        compactor=lambda clock: DropOldestTurns(clock, lambda: ids("msg")),
        window=plan.window,
        new_id=ids,
        hooks=moody_hooks(moody),
        settings=RunSettings(max_turns=12),
        retry=BackOff(attempts=2, jitter=lambda: 1),
        permissions=FakePermissions(ok="allow", wait="allow", end="allow", deaf="allow", nothing="deny"),
        approver=Answers(plan.answers),
    )
    if plan.all_at_once:
        b.agent.set_queue_mode("steering", "all")
        b.agent.set_queue_mode("followUp", "all")
    meddler = Meddler(plan, b)
    for action in ("steer", "followUp")[: plan.queued_before]:
        meddler.queue(action, b.agent)
    unsubscribe = b.agent.subscribe(meddler)
    if plan.slow_listener:
        b.agent.subscribe(lambda event: turns_of_the_loop(len(b.events.events) % 3))

    result = await finished(b, meddler, plan)

    check_result(b, meddler, result)
    unsubscribe()
    script.end()
    moody.end()
    assert (await soon(b.agent.prompt("Are you well?"))).text == "over"
    check_events(b.events.events)
    check_stored(b.agent.state.messages)
    check_queue(b, meddler, result)


async def finished(b: Bench, meddler: Meddler, plan: Chaos) -> RunResult:
    run = b.agent.prompt("Hi")
    stepping = asyncio.create_task(meddler.abort_at_step()) if plan.abort_at_step is not None else None
    result = await soon(run)
    await soon(b.agent.wait_for_idle())
    if stepping is not None:
        await soon(stepping)
    return result


def check_result(b: Bench, meddler: Meddler, result: RunResult) -> None:
    state = b.agent.state
    assert (state.phase, state.is_streaming, state.streaming_message) == ("idle", False, None)
    assert (state.pending_tool_calls, state.pending_writes) == ((), ())
    assert (state.steering, state.follow_up, b.agent.approvals.open) == ((), (), ())
    (end,) = b.events.of(AgentEnd)
    assert (end.stop_reason, end.returned, end.error) == (result.stop_reason, result.returned, result.error)
    assert (result.error is not None) == (result.stop_reason in ("error", "maxTurns"))
    for request in b.model.requests:
        check_pairs(request.messages)
    if meddler.aborted:
        assert result.stop_reason == "aborted"
        assert len(b.model.requests) == meddler.requests_at_abort
        assert set(meddler.returned) <= set(result.returned)


def check_queue(b: Bench, meddler: Meddler, result: RunResult) -> None:
    """Every queued message was delivered, handed back or taken back: once, and one of these."""
    delivered = [
        event.message.queue_id
        for event in b.events.of(MessageEnd)
        if isinstance(event.message, UserMessage) and event.message.queue_id is not None
    ]
    returned = [item.queue_id for item in result.returned]
    assert sorted([*delivered, *returned, *meddler.unqueued]) == sorted(meddler.queued)
