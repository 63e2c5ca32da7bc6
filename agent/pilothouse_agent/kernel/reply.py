"""One assistant message, whatever it takes: request, stream, retry, compaction, resume (L2 to L7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pilothouse_agent.kernel.abort import Aborted, bounded
from pilothouse_agent.kernel.builder import MessageBuilder
from pilothouse_agent.kernel.compact import Compacting
from pilothouse_agent.kernel.context import RunContext
from pilothouse_agent.kernel.events import MessageEnd, MessageStart, Notice, RetryScheduled
from pilothouse_agent.kernel.foreign import contained, described, guarded
from pilothouse_agent.kernel.left_out import places_of, refusal_note
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    ErrorInfo,
    MessageStop,
    RefusedBlock,
    Usage,
    text_of,
)
from pilothouse_agent.kernel.ports import Tool
from pilothouse_agent.kernel.pump import StreamPump
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ModelRequest, StreamEvent

__all__ = ["Reply", "ReplyMaker"]

_RESUME = (
    "The connection broke while you were answering. What arrived is above. Go on exactly where it "
    "stops, without repeating it."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The message stored, if any (an abort before the first delta leaves none), and what it means."""

    message: AssistantMessage | None
    tools: tuple[Tool, ...] = ()
    """The tools the request offered; calls are run with these (A7)."""
    failure: ErrorInfo | None = None
    """Set when the run is to end in error."""
    resume: tuple[CustomMessage, ...] = ()
    paused: bool = False


@dataclass(slots=True)
class _Answer:
    """What one request brought: deltas in the builder, and a terminal event unless it was aborted."""

    builder: MessageBuilder
    model: str
    started: bool = False
    terminal: Finished | Failed | None = None


class ReplyMaker:
    """Makes the replies of one run; counts its retries and resumes."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._parts = context.parts
        self._config = context.config
        self._transcript = context.transcript
        self._bus = context.bus
        self._signal = context.signal
        self._compacting = Compacting(context)
        self._open: _Answer | None = None
        self._resumes = 0
        self._delay: tuple[float, ErrorInfo] | None = None
        """What is to be waited before the next request, and for what failure (L6)."""
        self._retries = 0
        """Since the last finished message, also across turns (L7)."""
        self._overflowed = False
        self.usage: Usage | None = None
        """The sum over all requests so far, the failed ones included."""
        self._refusals = 0
        """Of blocks, since the last finished message."""

    async def make(self) -> Reply:
        """Ask until there is a message to go on with, or a reason to end the run."""
        await self._wait_after_break()
        while not self._signal.aborted:
            if (failure := await self._compacting.if_due()) is not None:
                return Reply(await self.store_failure(failure), failure=failure)
            if self._signal.aborted:
                break
            tools = self._config.tools
            answer = self._open = await self._ask()
            match answer.terminal:
                case Finished():
                    self._overflowed = False
                    self._retries = self._refusals = 0
                    return await self._finish(answer, answer.terminal, tools)
                case Failed(error):
                    if answer.builder.visible:
                        return await self._broken(answer, answer.terminal, tools)
                    if not await self._try_again(error):
                        if self._signal.aborted:
                            break
                        error = _final(error)
                        usage = answer.terminal.usage
                        message = await self._store(answer, "error", usage=usage, error=error)
                        return Reply(message, failure=error)
                case None:
                    return await self._aborted(answer, tools)
        return Reply(None)

    async def store_failure(self, error: ErrorInfo) -> AssistantMessage:
        """End the message being streamed, or an empty new one, with this error (A3)."""
        answer = self._open or _Answer(self._builder(), self._config.model_in_use)
        return await self._store(answer, "error", error=error)

    async def _ask(self) -> _Answer:
        """One request and its stream; a failure to build the request counts as the provider's."""
        answer = self._open = _Answer(self._builder(), self._config.model_in_use)
        try:
            request = await self._request()
        except Aborted:
            return answer
        except Exception as error:
            text = f"The request could not be built: {described(error)}"
            answer.terminal = Failed(ErrorInfo("internal", text))
            return answer
        await self._stream(request, answer)
        return answer

    async def _request(self) -> ModelRequest:
        specs = self._config.specs()
        model, thinking = self._config.model_in_use, self._config.thinking_in_use
        system = guarded(self._config.system, specs)
        messages = await self._context.hooks.request_messages(self._transcript)
        return ModelRequest(self._parts.session_id, "turn", model, system, messages, specs, thinking)

    async def _stream(self, request: ModelRequest, answer: _Answer) -> None:
        limit = self._parts.settings.close_limit
        async with StreamPump(self._parts.provider, request, self._signal, close_limit=limit) as pump:
            while (batch := await pump.next_batch()) is not None:
                await self._publish_batch(batch, answer)
                if answer.terminal is not None:
                    return

    async def _publish_batch(self, batch: Sequence[StreamEvent], answer: _Answer) -> None:
        publish, add = self._bus.publish, answer.builder.add
        for event in batch:
            if self._signal.aborted:
                return
            if isinstance(event, Delta):
                if (update := add(event)) is not None:
                    if not answer.started:
                        await self._start(answer)
                    await publish(update)
            elif isinstance(event, Finished | Failed):
                answer.terminal = event
                if event.usage is not None:
                    self.usage = event.usage if self.usage is None else self.usage + event.usage
                return
            elif isinstance(event, Notice):
                await publish(event)
            else:
                answer.builder.add_data(event)

    async def _finish(self, answer: _Answer, finished: Finished, tools: tuple[Tool, ...]) -> Reply:
        paused = finished.stop_reason == "pause"
        stop: MessageStop = "stop" if finished.stop_reason == "pause" else finished.stop_reason
        message = await self._store(answer, stop, usage=finished.usage, model=finished.model)
        self._compacting.measured()
        return Reply(message, tools, paused=paused)

    async def _broken(self, answer: _Answer, failed: Failed, tools: tuple[Tool, ...]) -> Reply:
        """A stream that failed after output: resumed where that makes sense (L6)."""
        error = failed.error
        if not error.retryable or self._resumes >= self._parts.settings.resumes:
            message = await self._store(answer, "error", usage=failed.usage, error=error)
            return Reply(message, tools, failure=error)
        delay = guarded(self._parts.retry.delay, self._resumes + 1, error)
        if delay is None:
            error = _final(error)
            message = await self._store(answer, "error", usage=failed.usage, error=error)
            return Reply(message, tools, failure=error)
        self._resumes += 1
        has_text = answer.builder.text_visible
        message = await self._store(answer, "interrupted", usage=failed.usage, error=error)
        self._delay = (delay, error)
        resume = (self._context.custom("resume", _RESUME),) if has_text else ()
        return Reply(message, tools, resume=resume)

    async def _aborted(self, answer: _Answer, tools: tuple[Tool, ...]) -> Reply:
        if not answer.started:
            return Reply(None)
        return Reply(await self._store(answer, "aborted"), tools)

    async def _try_again(self, error: ErrorInfo) -> bool:
        """Whether the same request is to be sent once more; waits or compacts first (L5, L7)."""
        if self._signal.aborted:
            return False
        if error.kind == "contextOverflow":
            if self._overflowed:
                return False
            self._overflowed = True
            return await self._compacting.run("overflow")
        if error.refused is not None:
            return await self._leave_out(error.refused, error.message)
        delay = guarded(self._parts.retry.delay, self._retries + 1, error)
        if delay is None:
            return False
        self._retries += 1
        await self._wait(delay, error, attempt=self._retries, attempts=self._parts.retry.attempts)
        return not self._signal.aborted

    async def _leave_out(self, refused: RefusedBlock, reason: str) -> bool:
        """Put a note in the place of what the provider refuses; whether there was anything."""
        self._refusals += 1
        places = places_of(self._transcript.messages, refused, attempt=self._refusals)
        if not places:
            return False
        record = self._context.custom("leftOut", refusal_note(reason), for_model=False, left_out=places)
        await self._context.store(record)
        told = text_of(record.content).partition(": ")[2].removesuffix("]")
        text = f"The provider of the model refused {_counted(len(places))}, left out from now on: {told}"
        await self._bus.publish(Notice("warning", text, "blockRefused"))
        return not self._signal.aborted

    async def _wait_after_break(self) -> None:
        if self._delay is not None and not self._signal.aborted:
            (delay, error), self._delay = self._delay, None
            await self._wait(delay, error, attempt=self._resumes, attempts=self._parts.settings.resumes)

    async def _wait(self, delay: float, error: ErrorInfo, *, attempt: int, attempts: int) -> None:
        await self._context.move("retry", error.kind)
        await self._bus.publish(RetryScheduled(attempt, attempts, round(delay * 1000), error.message))
        try:
            waiting = contained(self._parts.clock.sleep, delay)
            await bounded(waiting, signal=self._signal, limit=None)
        except Aborted:
            return
        await self._context.move("turn", "retry")

    async def _start(self, answer: _Answer) -> None:
        answer.started = True
        self._context.state.streaming = answer.builder
        await self._bus.publish(MessageStart(answer.builder.message_id, "assistant"))

    async def _store(
        self,
        answer: _Answer,
        stop: MessageStop,
        *,
        usage: Usage | None = None,
        error: ErrorInfo | None = None,
        model: str | None = None,
    ) -> AssistantMessage:
        broken = stop in ("error", "aborted", "interrupted")
        message = AssistantMessage(
            answer.builder.message_id,
            answer.builder.content("broken" if broken else "finished"),
            self._parts.clock.now(),
            model or answer.model,
            stop,
            usage,
            error,
        )
        if not answer.started:
            await self._start(answer)
        self._transcript.append(message)
        self._open = None
        await self._bus.publish(MessageEnd(message))
        return message

    def _builder(self) -> MessageBuilder:
        new_id = self._parts.new_id
        return MessageBuilder(new_id("msg"), taken=self._transcript.call_ids, new_id=lambda: new_id("call"))


def _final(error: ErrorInfo) -> ErrorInfo:
    """The error the run ends with; says how long the provider wanted us to wait, if it did."""
    if error.retry_after is None:
        return error
    return replace(error, message=f"{error.message} (retry after {error.retry_after:g} s)")


def _counted(blocks: int) -> str:
    return "a block of the conversation" if blocks == 1 else f"{blocks} blocks of the conversation"
