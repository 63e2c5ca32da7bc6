"""The agent: admits prompts, steering and aborts in single synchronous steps, and runs one run at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.approvals import Approvals
from pilothouse_agent.kernel.bus import EventBus, Listener
from pilothouse_agent.kernel.compact import Compacting
from pilothouse_agent.kernel.context import RunContext
from pilothouse_agent.kernel.errors import AgentBusy, NothingToContinue, NotRunning
from pilothouse_agent.kernel.events import (
    MessageEnd,
    MessageStart,
    Notice,
    QueuedItem,
    QueueKind,
    SessionUpdate,
)
from pilothouse_agent.kernel.following import Input
from pilothouse_agent.kernel.hook_runner import HookRunner
from pilothouse_agent.kernel.loop import Runner
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    TextBlock,
    ToolResultMessage,
    Usage,
    UserBlock,
    UserMessage,
    is_blank,
    text_of,
)
from pilothouse_agent.kernel.parts import AgentConfig, AgentParts, RunChoices, SystemPrompt
from pilothouse_agent.kernel.ports import RetryPolicy, Tool
from pilothouse_agent.kernel.queues import MessageQueues
from pilothouse_agent.kernel.request import ThinkingLevel
from pilothouse_agent.kernel.run import WAITS_FOR_ITSELF, Run, RunResult
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot, QueueMode
from pilothouse_agent.kernel.state import State
from pilothouse_agent.kernel.transcript import Transcript

__all__ = ["EMPTY_MESSAGE", "Agent", "Content"]

EMPTY_MESSAGE = "The message is empty. Give it text or content."

Content: TypeAlias = "str | tuple[UserBlock, ...]"


class Agent:
    """One conversation. All methods belong to the event loop; only `wait_for_idle` and runs are awaited."""

    def __init__(
        self,
        parts: AgentParts,
        *,
        model: str,
        tools: Iterable[Tool] = (),
        system_prompt: str | SystemPrompt = "",
        thinking: ThinkingLevel = "off",
        messages: Iterable[Message] = (),
    ) -> None:
        self._parts = parts
        self._config = AgentConfig(model, tuple(tools), system_prompt, thinking)
        self._transcript = Transcript(messages)
        self._state = State()
        self._queues = MessageQueues()
        self._bus = EventBus(self._state.apply, limit=parts.settings.listener_limit)
        self._approvals = Approvals(parts.approver, self._bus.publish)
        self._active: RunContext | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def state(self) -> AgentStateSnapshot:
        return self._state.snapshot(self._config, self._queues, self._transcript)

    @property
    def approvals(self) -> Approvals:
        """The open questions, to list and to answer."""
        return self._approvals

    @property
    def usage(self) -> Usage | None:
        """The sum over all requests of the conversation as it is held here."""
        total: Usage | None = None
        for message in self._transcript.messages:
            if isinstance(message, AssistantMessage) and message.usage is not None:
                total = message.usage if total is None else total + message.usage
        return total

    @property
    def busy(self) -> bool:
        """Whether a prompt would be refused."""
        return not self._idle.is_set()

    @property
    def aborting(self) -> bool:
        """What is active has been aborted and is on its way out."""
        return self._active is not None and self._active.signal.aborted

    @property
    def run_id(self) -> str | None:
        """Of the run that is active, until its agent_end."""
        return self._state.run_id

    @property
    def ending(self) -> bool:
        """The run takes no more messages but its slot is not free yet (Q2)."""
        return self._queues.closed

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._bus.subscribe(listener)

    def prompt(
        self,
        *messages: Content | QueuedItem,
        prompt_id: str | None = None,
        run_id: str | None = None,
        choices: RunChoices | None = None,
    ) -> Run:
        """Admit a prompt of one or more user messages and start its run, in one step (A1).

        Raises `AgentBusy` while a run is active and ValueError when there is nothing in it.
        `run_id` is for a caller that had to promise one before the agent was idle. `choices` win over
        `set_model` and `set_thinking` until the run has ended.
        """
        inputs = [self._input(message) for message in messages]
        if not inputs or not all(item.content for item in inputs):
            raise ValueError("The prompt is empty. Give it text or content.")
        self._refuse_if_busy()
        self._config.of_run = choices or RunChoices()
        return self._begin(inputs, prompt_id, run_id)

    def continue_(self) -> Run:
        """Run without new input (A6). Raises `AgentBusy` or `NothingToContinue`."""
        self._refuse_if_busy()
        tail = _tail(self._transcript.messages)
        if tail is None:
            raise NothingToContinue("The conversation is empty. Send a prompt.")
        if not isinstance(tail, AssistantMessage):
            return self._begin([], None)
        items = self._queues.next_items()
        if not items:
            raise NothingToContinue("The last message is a finished answer. Send a prompt.")
        return self._begin(items, None)

    def steer(self, content: Content) -> str:
        """Queue for the next turn boundary; the queue id. Raises `NotRunning` while a run is ending."""
        return self._enqueue("steering", content)

    def follow_up(self, content: Content) -> str:
        """Queue for when the model would stop; the queue id. Raises `NotRunning` while a run is ending."""
        return self._enqueue("followUp", content)

    def unqueue(self, queue_ids: Collection[str]) -> tuple[str, ...]:
        """The ids that were still queued and are not any more."""
        removed = self._queues.remove(queue_ids)
        if removed:
            self._bus.post(self._queues.update())
        return removed

    def abort(self) -> tuple[QueuedItem, ...]:
        """End whatever runs; idempotent, legal at any time (A5). Returns what was still queued (Q3)."""
        if self._active is None:
            return ()
        if self._state.run_id is not None:
            return self._active.abort()
        self._active.stop()
        return ()

    async def wait_for_idle(self) -> None:
        """Returns when the run has ended and its slot is free. Raises RuntimeError inside a listener."""
        if self._bus.in_listener():
            raise RuntimeError(WAITS_FOR_ITSELF)
        await self._idle.wait()

    async def compact(self) -> bool:
        """Shorten the history by hand; whether it is shorter now. Raises `AgentBusy`.

        Cancelling the caller aborts it.
        """
        self._refuse_if_busy()
        task = asyncio.create_task(self._compact(self._occupy("")))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                self.abort()
            raise

    def append_custom(self, name: str, content: Content, *, for_model: bool = False) -> CustomMessage:
        """Put a message of the application into the transcript (B3). Raises `AgentBusy` during a run."""
        self._refuse_if_busy()
        message = CustomMessage(
            self._parts.new_id("msg"), _blocks(content), self._parts.clock.now(), name, for_model
        )
        self._transcript.append(message)
        self._bus.post(MessageStart(message.id, "custom"))
        self._bus.post(MessageEnd(message))
        return message

    def notify(self, news: Notice | SessionUpdate) -> None:
        """Publish what the application has to tell, in order with everything else."""
        self._bus.post(news)

    def load(self, messages: Iterable[Message]) -> None:
        """Replace the conversation (A7). Raises `AgentBusy` during a run."""
        self._refuse_if_busy()
        self._transcript = Transcript(messages)

    def set_model(self, model: str) -> None:
        self._config.model = model
        self._bus.post(SessionUpdate(model=model))

    def set_thinking(self, level: ThinkingLevel) -> None:
        self._config.thinking = level
        self._bus.post(SessionUpdate(thinking=level))

    def set_tools(self, tools: Iterable[Tool]) -> None:
        self._config.tools = tuple(tools)

    def set_system_prompt(self, prompt: str | SystemPrompt) -> None:
        self._config.system_prompt = prompt

    def configure(self, settings: RunSettings, retry: RetryPolicy) -> None:
        """Change the numbers, from the next run on."""
        self._parts = replace(self._parts, settings=settings, retry=retry)

    def set_queue_mode(self, kind: QueueKind, mode: QueueMode) -> None:
        self._queues.modes[kind] = mode

    def _refuse_if_busy(self) -> None:
        if self.busy:
            raise AgentBusy

    def _begin(self, inputs: Sequence[Input], prompt_id: str | None, run_id: str | None = None) -> Run:
        run_id = run_id or self._parts.new_id("run")
        self._state.turn = 0
        self._state.run_id = run_id
        task = asyncio.create_task(self._run(Runner(self._occupy(run_id), inputs, prompt_id)))
        return Run(run_id, task, abort=self.abort, in_listener=self._bus.in_listener)

    def _occupy(self, run_id: str) -> RunContext:
        """Take the slot, until `_settle`."""
        self._idle.clear()
        parts, signal = self._parts, AbortSignal()
        self._active = RunContext(
            run_id,
            parts,
            self._config,
            self._transcript,
            self._state,
            self._queues,
            self._bus,
            self._approvals,
            HookRunner(parts.hooks, signal, limit=parts.settings.hook_limit, notify=self._bus.post),
            signal,
        )
        return self._active

    async def _run(self, runner: Runner) -> RunResult:
        try:
            return await runner.run()
        finally:
            await self._settle("failed")

    async def _compact(self, context: RunContext) -> bool:
        try:
            return await Compacting(context).run("manual")
        finally:
            await self._settle("aborted")

    async def _settle(self, reason: str) -> None:
        """Free the slot; after it everything can begin anew (A4)."""
        try:
            if self._state.phase != "idle":
                await self._bus.publish(self._state.move("idle", reason))
        finally:
            self._active = None
            self._queues.reopen()
            self._config.of_run = RunChoices()
            self._bus.set_limit(self._parts.settings.listener_limit)
            self._idle.set()

    def _enqueue(self, kind: QueueKind, content: Content) -> str:
        blocks = _blocks(content)
        if not blocks:
            raise ValueError(EMPTY_MESSAGE)
        if self.ending:
            raise NotRunning
        queue_id = self._parts.new_id("queue")
        self._queues.add(queue_id, kind, blocks)
        self._bus.post(self._queues.update())
        return queue_id

    def _input(self, message: Content | QueuedItem) -> UserMessage:
        queue_id, content = None, message
        if isinstance(message, QueuedItem):
            queue_id, content = message.queue_id, message.content
        assert not isinstance(content, QueuedItem)
        return UserMessage(self._parts.new_id("msg"), _blocks(content), self._parts.clock.now(), queue_id)


def _blocks(content: Content) -> tuple[UserBlock, ...]:
    """The content as blocks; none when there is nothing in it but blanks."""
    blocks = (TextBlock(content),) if isinstance(content, str) else content
    return () if is_blank(blocks) else blocks


def _tail(messages: list[Message]) -> Message | None:
    """The message a continued run would answer; failed and empty answers do not count (A6)."""
    for message in reversed(messages):
        if isinstance(message, UserMessage | ToolResultMessage):
            return message
        if isinstance(message, CustomMessage):
            if message.for_model:
                return message
        elif message.stop_reason in ("stop", "toolUse", "length", "refusal") and (
            message.calls or text_of(message.content).strip()
        ):
            return message
    return None
