"""Permission in the prepare phase: judged, asked, answered exactly once (P1, P2, P4)."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse_agent.kernel.abort import Aborted, AbortSignal
from pilothouse_agent.kernel.approvals import Approvals
from pilothouse_agent.kernel.events import (
    AgentEnd,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    ToolExecutionEnd,
)
from pilothouse_agent.kernel.hooks import ChangeArguments, Hooks
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.questions import Answer, PermissionRequest, Question, Verdict
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolResult, Violation
from support.footprints import turns_of_the_loop
from support.kernel import Bench, FakeClock, FakeTool, Gate, asks, bench, call, echo_tool, says, soon
from support.permissions import ALLOW, OPTIONS, REJECT, STOP, FakePermissions, FakeUser
from support.recorder import Recorder


def asking(*ids: str, user: FakeUser | None, permissions: FakePermissions | None = None) -> Bench:
    """An agent whose model asks for these calls of `echo` in one message and then says done."""
    calls = [call(call_id, "echo", {"v": call_id}) for call_id in ids]
    permissions = permissions or FakePermissions()
    return bench(
        asks(*calls), says("done"), says("again"), tools=[echo_tool()], permissions=permissions, approver=user
    )


def resolutions(b: Bench) -> list[tuple[str, str, str, str | None]]:
    return [
        (event.tool_call_id, event.decision, event.by, event.reason)
        for event in b.events.of(ApprovalResolved)
    ]


@pytest.mark.covers("P1")
async def test_allow_and_deny_are_settled_without_a_question() -> None:
    user, permissions = FakeUser(), FakePermissions(echo="allow", other="deny")
    b = bench(
        asks(call("c1", "echo"), call("c2", "other")),
        says("done"),
        tools=[echo_tool(), echo_tool("other")],
        permissions=permissions,
        approver=user,
    )

    await b.run("Hi")

    assert b.shown[2:] == ["R c1:ok", "R c2:not by this rule!", "A:done"]
    assert [line for line in b.lines if line.startswith("X")][-2:] == ["XE c2 denied", "XE c1 ok"]
    assert (user.questions, permissions.judged) == ([], ["c1", "c2"])


@pytest.mark.covers("P1", "T1")
async def test_what_is_judged_is_valid_and_what_the_hook_made_of_it() -> None:
    judged: list[JsonObject | None] = []

    class Judge(FakePermissions):
        def judge(self, request: PermissionRequest) -> Verdict:
            judged.append(request.call.arguments)
            return Verdict("allow")

    async def hook(call: ToolCall, signal: object) -> ChangeArguments:
        return ChangeArguments({"v": "from the hook"})

    def check(arguments: JsonObject) -> JsonObject:
        if not arguments:
            raise InvalidArguments((Violation("v", "missing"),))
        return arguments

    b = bench(
        asks(call("c1", "echo", {"v": "from the model"}), call("c2", "echo")),
        says("done"),
        tools=[FakeTool("echo", echo_tool().body, check=check)],
        hooks=Hooks(before_tool_call=(hook,)),
        permissions=Judge(),
    )

    await b.run("Hi")

    assert judged == [{"v": "from the hook"}]


@pytest.mark.covers("P1", "T5", "A2")
@pytest.mark.parametrize("method", ["judge", "settle"])
async def test_a_judge_that_raises_is_a_no_for_that_call_only(method: str) -> None:
    class Broken(FakePermissions):
        def judge(self, request: PermissionRequest) -> Verdict:
            return self._fail_at("judge", request) or super().judge(request)

        def settle(self, request: PermissionRequest, option_id: str) -> bool:
            return self._fail_at("settle", request) or super().settle(request, option_id)

        def _fail_at(self, name: str, request: PermissionRequest) -> None:
            if (name, request.call.id) == (method, "c1"):
                raise RuntimeError("rules broke")

    b = asking("c1", "c2", user=FakeUser(*[ALLOW] * 2), permissions=Broken())

    result = await b.run("Hi")

    assert (result.stop_reason, b.shown[3:]) == ("completed", ["R c2:c2", "A:done"])
    assert b.shown[2].startswith("R c1:")
    assert b.shown[2].endswith("!")
    requested = [event.approval_id for event in b.events.of(ApprovalRequested)]
    assert [event.approval_id for event in b.events.of(ApprovalResolved)] == requested


@pytest.mark.covers("P2", "E3")
async def test_a_question_is_published_resolved_and_published_again() -> None:
    b = asking("c1", user=FakeUser(Answer("yes", by="an editor")))

    await b.run("Hi")

    requested, resolved = (
        ApprovalRequested("ask1", "c1", "Run echo", OPTIONS),
        ApprovalResolved("ask1", "c1", "allowed", "an editor"),
    )
    assert (b.events.of(ApprovalRequested), b.events.of(ApprovalResolved)) == ([requested], [resolved])
    assert b.events.turns[3:8] == ["XS c1", "AQ c1", "AR c1 allowed", "XE c1 ok", "ME(R,c1 ok)"]


@pytest.mark.covers("P2")
async def test_an_open_question_is_listed_until_it_is_resolved() -> None:
    user = FakeUser()
    b = asking("c1", user=user)
    run = b.agent.prompt("Hi")
    await soon(user.asked.wait())

    listed = [(question.id, question.call.id) for question in b.agent.approvals.open]
    answered = b.agent.approvals.answer("ask1", ALLOW)
    await soon(run)

    assert (listed, answered, b.agent.approvals.open) == ([("ask1", "c1")], True, ())
    assert (b.shown[2], user.withdrawn) == ("R c1:c1", ["c1"])


@pytest.mark.covers("P2", "R083")
async def test_each_answer_reaches_its_own_question_and_only_once() -> None:
    user = FakeUser()
    b = asking("A", "B", user=user)
    run = b.agent.prompt("Hi")
    await soon(user.asked.wait())
    answer = b.agent.approvals.answer

    answered = [answer("ask2", REJECT), answer("ask1", ALLOW), answer("ask1", REJECT)]
    user.asked.clear()
    await soon(user.asked.wait())
    answered += [answer("ask1", ALLOW), answer("ask2", REJECT), answer("ask2", ALLOW)]
    await soon(run)
    answered.append(answer("ask2", ALLOW))

    assert answered == [False, True, False, False, True, False, False]
    assert b.shown[2:4] == ["R A:A", "R B:Denied by the user.!"]
    assert resolutions(b) == [("A", "allowed", "user", None), ("B", "denied", "user", None)]


@pytest.mark.covers("P2", "R083")
async def test_questions_of_calls_that_run_together_are_asked_one_at_a_time() -> None:
    published: list[str] = []

    async def publish(event: Event) -> None:
        published.append(f"{event.type} {getattr(event, 'tool_call_id', '')}")

    user = FakeUser()
    approvals, signal = Approvals(user, publish), AbortSignal()
    waiting = [
        asyncio.create_task(approvals.ask(question(call_id), signal, lambda option: option == "yes"))
        for call_id in ("A", "B")
    ]
    await soon(user.asked.wait())
    await turns_of_the_loop(5)
    open_at_first = [question.id for question in approvals.open]
    approvals.answer("ask A", ALLOW)
    await soon(waiting[0])
    await turns_of_the_loop(5)
    approvals.answer("ask B", REJECT)

    assert (await soon(waiting[0])).decision == "allowed"
    assert (await soon(waiting[1])).decision == "denied"
    assert open_at_first == ["ask A"]
    assert published == [
        "approval_requested A",
        "approval_resolved A",
        "approval_requested B",
        "approval_resolved B",
    ]


def question(call_id: str) -> Question:
    return Question(f"ask {call_id}", ToolCall(call_id, "echo", {}), "other", "T", "low", OPTIONS)


@pytest.mark.covers("P2")
async def test_the_question_of_a_body_that_is_cancelled_is_resolved_as_cancelled() -> None:
    published: list[Event] = []

    async def publish(event: Event) -> None:
        published.append(event)

    user = FakeUser()
    approvals = Approvals(user, publish)
    body = asyncio.create_task(approvals.ask(question("A"), AbortSignal(), lambda option: True))
    await soon(user.asked.wait())

    body.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(body)

    assert [event.type for event in published] == ["approval_requested", "approval_resolved"]
    assert published[1] == ApprovalResolved("ask A", "A", "cancelled", "abort", "the run was aborted")
    assert approvals.open == ()


@pytest.mark.covers("P2", "A5")
async def test_a_body_aborted_while_its_question_is_being_told_leaves_nobody_without_the_news() -> None:
    """A second listener and the end of another call are waiting behind the first listener meanwhile."""
    listening, user = Gate(), FakeUser()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await b.agent.approvals.ask(question("c1"), context.signal, lambda option: True)
        return ToolResult.text("asked")

    async def slow(event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            await listening()

    b = bench(
        asks(call("c1", "ask"), call("c2", "echo")),
        tools=[FakeTool("ask", body), echo_tool()],
        approver=user,
    )
    b.agent.subscribe(slow)
    late = Recorder()
    b.agent.subscribe(late)
    run = b.agent.prompt("Hi")
    await listening.arrival()
    await turns_of_the_loop(5)

    b.agent.abort()
    await turns_of_the_loop(5)
    listening.open()
    result = await soon(run)

    assert (result.stop_reason, user.questions, b.agent.approvals.open) == ("aborted", [], ())
    assert b.shown[2:] == ["R c1:Aborted while it was running.!", "R c2:ok"]
    assert late.events == b.events.events
    assert [line for line in b.lines if line[0] in "AX"][1:-1] == [
        "XS c1",
        "XS c2",
        "AQ c1",
        "XE c2 ok",
        "AR c1 cancelled",
        "XE c1 aborted",
    ]


@pytest.mark.covers("P2")
async def test_nothing_is_asked_after_an_abort() -> None:
    user, signal = FakeUser(ALLOW), AbortSignal()
    signal.set()

    async def publish(event: Event) -> None:
        raise AssertionError(event)

    with pytest.raises(Aborted):
        await Approvals(user, publish).ask(question("A"), signal, lambda option: True)

    assert user.questions == []


@pytest.mark.covers("P4", "R085")
async def test_with_nobody_to_ask_the_answer_is_no_with_a_reason() -> None:
    b = asking("c1", user=None)

    result = await b.run("Hi")

    assert (result.stop_reason, b.shown[2:]) == (
        "completed",
        ["R c1:Denied: nobody can be asked here!", "A:done"],
    )
    assert b.agent.approvals.open == ()


@pytest.mark.covers("P4", "R016", "R080", "R086")
@pytest.mark.parametrize(
    "reply",
    [
        None,
        RuntimeError("method not found"),
        asyncio.CancelledError(),
        TimeoutError(),
        Answer("maybe"),
        Answer(""),
        {},
        "yes",
        True,
    ],
)
async def test_silence_failure_and_nonsense_count_as_reject_once(reply: object) -> None:
    b = asking("c1", "c2", user=FakeUser(reply, ALLOW))

    result = await b.run("Hi")

    assert (result.stop_reason, b.shown[3:]) == ("completed", ["R c2:c2", "A:done"])
    assert b.shown[2].startswith("R c1:Denied")
    assert b.shown[2].endswith("!")
    assert [decision for _, decision, _, _ in resolutions(b)] == ["denied", "allowed"]


@pytest.mark.covers("P2", "R080", "R082")
async def test_a_reject_tells_the_model_why_and_the_run_goes_on() -> None:
    b = asking("c1", "c2", user=FakeUser(Answer("no", "use the other file"), ALLOW))

    result = await b.run("Hi")

    assert (result.stop_reason, b.shown[2:]) == (
        "completed",
        ["R c1:Denied: use the other file!", "R c2:c2", "A:done"],
    )
    assert resolutions(b)[0] == ("c1", "denied", "user", "use the other file")


@pytest.mark.covers("R082", "T8")
async def test_a_reject_with_stop_ends_the_run_and_no_call_of_the_batch_runs() -> None:
    permissions = FakePermissions()
    b = asking("c1", "c2", "c3", user=FakeUser(ALLOW, STOP), permissions=permissions)
    b.agent.follow_up("later")

    result = await b.run("Hi")

    assert (result.stop_reason, [item.kind for item in result.returned]) == ("aborted", ["followUp"])
    assert b.shown[2:] == [
        "R c1:Aborted: the call did not run.!",
        "R c2:Denied by the user.!",
        "R c3:Aborted: the call did not run.!",
    ]
    assert [line for line in b.events.turns if line[:2] in ("AQ", "AR", "XE")] == [
        "AQ c1",
        "AR c1 allowed",
        "AQ c2",
        "AR c2 denied",
        "XE c2 denied",
        "XE c3 aborted",
        "XE c1 aborted",
    ]
    assert (permissions.judged, len(b.model.requests)) == (["c1", "c2"], 1)


@pytest.mark.covers("R016", "R079", "R080", "A5", "K70")
async def test_an_abort_withdraws_the_open_question_and_nothing_runs() -> None:
    user = FakeUser()
    b = asking("c1", "c2", user=user)
    run = b.agent.prompt("Hi")
    await soon(user.asked.wait())

    b.agent.abort()
    result = await soon(run)

    assert (result.stop_reason, user.withdrawn, b.agent.approvals.open) == ("aborted", ["c1"], ())
    assert b.shown[2:] == [f"R {i}:Aborted: the call did not run.!" for i in ("c1", "c2")]
    assert resolutions(b) == [("c1", "cancelled", "abort", "the run was aborted")]
    assert (await b.run("Go on")).text == "done"


@pytest.mark.covers("R265")
@pytest.mark.parametrize(
    ("reply", "denied"), [(ALLOW, 1), (REJECT, 2), (None, 2), (Answer("no", "use the other file"), 2)]
)
async def test_calls_refused_by_a_rule_or_an_answer_are_counted(reply: Answer | None, denied: int) -> None:
    b = bench(
        asks(call("c1", "echo"), call("c2", "other")),
        asks(call("c3", "free")),
        says("done"),
        tools=[echo_tool(), echo_tool("other"), echo_tool("free")],
        permissions=FakePermissions(other="deny", free="allow"),
        approver=FakeUser(reply),
    )

    result = await b.run("Hi")

    assert (result.denied, [event.denied for event in b.events.of(AgentEnd)]) == (denied, [denied])


@pytest.mark.covers("R274")
async def test_the_time_of_a_call_is_its_own_and_not_that_of_the_person_who_was_asked() -> None:
    clock = FakeClock()

    class Slow(FakeUser):
        async def ask(self, question: Question) -> Answer | None:
            await clock.sleep(60)
            return ALLOW

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await clock.sleep(2)
        return ToolResult.text("ok")

    b = bench(
        asks(call("c1", "echo"), call("c2", "work")),
        says("done"),
        tools=[echo_tool(), FakeTool("work", body)],
        permissions=FakePermissions(),
        approver=Slow(),
        clock=clock,
    )

    await b.run("Hi")

    times = {event.tool_call_id: event.duration_ms for event in b.events.of(ToolExecutionEnd)}
    assert (times["c1"] <= 2000, times["c2"]) == (True, 2000)
