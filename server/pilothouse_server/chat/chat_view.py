"""Writes what happens in a session into the chat document, while it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    ApprovalRequested,
    ApprovalResolved,
    CompactionEnd,
    Event,
    FileChanged,
    MessageEnd,
    MessageUpdate,
    Notice,
    QueueUpdate,
    RetryScheduled,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from pilothouse_agent.kernel.messages import AssistantMessage, ToolResultMessage, UserMessage, text_of
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_server.chat.chat_document import ChatDocument
from pilothouse_server.chat.chat_markdown import (
    call_lines,
    ending,
    hunks_in,
    not_read_yet,
    one_line,
    question_lines,
    resolution_line,
    tail_of,
)
from pilothouse_server.chat.chat_text import Tail, grown, harmless, life_line, spoken

__all__ = ["ChatView"]

_PACE = 0.4
"""Seconds between two changes of the document for the sake of what is being written."""
_SETTLE = 30.0
_SIGN = 10
"""Seconds after which a life line changes although nothing else has."""
_WORKING = "Working"


class ChatView:
    """A listener of one session. Never waits: the document is changed beside the run."""

    def __init__(
        self, session: AgentSession, document: ChatDocument, *, grew: Callable[[], object] = lambda: None
    ) -> None:
        """`grew` is called when the document has taken something."""
        self._session = session
        self._document = document
        self._grew = grew
        self._blocks: list[str] = []
        """What is ended and not in the document yet."""
        self._words: list[str] = []
        """Of the message that is being written."""
        self._written = Tail()
        self._doing: str | None = None
        self._since = 0.0
        self._unread: list[str] = []
        self._input: tuple[str, ...] = ()
        self._titles: dict[str, str] = {}
        self._ended: dict[str, ToolExecutionEnd] = {}
        self._changes: dict[str, FileChanged] = {}
        self._shown: set[str] = set()
        """Calls whose change was shown in a question."""
        self._living: asyncio.Task[None] | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case MessageUpdate():
                if event.kind == "text":
                    self._words.append(event.text)
            case AgentStart():
                self._begin(event)
            case MessageEnd():
                self._ended_message(event)
            case ToolExecutionStart():
                self._titles[event.tool_call_id] = event.title
                self._do(one_line(event.title))
            case FileChanged():
                self._changes[event.tool_call_id] = event
            case ToolExecutionEnd():
                self._ended[event.tool_call_id] = event
                self._do(_WORKING)
            case ApprovalRequested():
                self._ask(event)
            case ApprovalResolved():
                self._do(_WORKING)
                self._write(resolution_line(event))
            case QueueUpdate():
                self._unread = [not_read_yet(item) for item in (*event.steering, *event.follow_up)]
                self._write()
            case AgentEnd():
                self._end(event)
            case _:
                self._add(*_told(event))

    def _begin(self, event: AgentStart) -> None:
        self._input = event.input
        self._do(_WORKING)
        self._write(f"*{event.model}*")
        self._living = asyncio.create_task(self._live())

    async def _live(self) -> None:
        while True:
            await asyncio.sleep(_PACE)
            await self._document.settled(_SETTLE)
            self._write()

    def _ended_message(self, event: MessageEnd) -> None:
        match event.message:
            case AssistantMessage() as message:
                self._words.clear()
                self._add(text_of(message.content))
            case ToolResultMessage() as message:
                self._add(self._call(message))
            case UserMessage() as message if message.queue_id is not None and message.id not in self._input:
                self._blocks.append(spoken(text_of(message.content)))
            case _:
                pass

    def _ask(self, event: ApprovalRequested) -> None:
        asked = [each for each in self._session.agent.approvals.open if each.id == event.approval_id]
        self._shown.add(event.tool_call_id)
        self._do("Waiting for you", signs=False)
        self._write(*map(question_lines, asked))

    def _end(self, event: AgentEnd) -> None:
        if self._living is not None:
            self._living.cancel()
        self._doing, self._unread = None, []
        self._write(ending(event))
        for kept in (self._titles, self._ended, self._changes, self._shown):
            kept.clear()

    def _call(self, result: ToolResultMessage) -> str:
        call_id = result.tool_call_id
        end = self._ended.get(call_id)
        title = self._titles.get(call_id, result.tool_name)
        if end is None:
            return call_lines(title, "error", body=tail_of(text_of(result.content)))
        body = "" if call_id in self._shown else hunks_in(end.details)
        if end.outcome == "error" or (end.outcome == "ok" and self._shows_output(end)):
            body = tail_of(text_of(result.content))
        return call_lines(title, end.outcome, change=self._changes.get(call_id), body=body)

    def _shows_output(self, end: ToolExecutionEnd) -> bool:
        return "exitCode" in (end.details or {})

    def _do(self, what: str, *, signs: bool = True) -> None:
        self._doing = what
        self._since = asyncio.get_running_loop().time() if signs else 0

    def _status(self) -> str:
        if self._doing is None:
            return ""
        seconds = asyncio.get_running_loop().time() - self._since if self._since else 0
        time = f", {seconds // _SIGN * _SIGN:.0f} s" if seconds >= _SIGN else ""
        return "\n\n".join([life_line(self._doing + time), *self._unread])

    def _add(self, *blocks: str) -> None:
        self._blocks += [harmless(block.strip()) for block in blocks if block.strip()]

    def _write(self, *blocks: str) -> None:
        """All that has come together, as one change."""
        self._add(*blocks)
        tail = Tail(harmless("".join(self._words).strip()), self._status())
        if self._blocks or tail != self._written:
            fixed = "\n\n".join(self._blocks)
            self._document.write(partial(_grown, self._written, fixed, tail), self._grew)
            self._blocks.clear()
            self._written = tail


def _told(event: Event) -> Iterator[str]:
    match event:
        case RetryScheduled():
            yield f"*{event.reason} Trying again in {event.delay_ms / 1000:g} s ({event.attempt}).*"
        case CompactionEnd() if event.error is None:
            yield "*The beginning of this chat was summarised for the model.*"
        case Notice() if event.level != "info":
            yield f"*{event.message}*"
        case _:
            pass


def _grown(was: Tail, fixed: str, tail: Tail, text: str, again: bool) -> str:
    return grown(text, was, fixed, tail, again)
