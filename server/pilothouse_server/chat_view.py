"""Writes what happens in a session into the chat document: per turn, and before each question."""

from __future__ import annotations

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
    Notice,
    RetryScheduled,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
)
from pilothouse_agent.kernel.messages import AssistantMessage, ToolResultMessage, text_of
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_server.chat_document import ChatDocument
from pilothouse_server.chat_markdown import (
    call_lines,
    ending,
    hunks_in,
    question_lines,
    resolution_line,
    tail_of,
)
from pilothouse_server.chat_text import answered

__all__ = ["ChatView"]


class ChatView:
    """A listener of one session. Never waits: the document is changed beside the run."""

    def __init__(self, session: AgentSession, document: ChatDocument) -> None:
        self._session = session
        self._document = document
        self._blocks: list[str] = []
        self._titles: dict[str, str] = {}
        self._ended: dict[str, ToolExecutionEnd] = {}
        self._changes: dict[str, FileChanged] = {}
        self._shown: set[str] = set()
        """Calls whose change was shown in a question."""

    def __call__(self, event: Event) -> None:
        match event:
            case AgentStart():
                self._write(f"*{event.model}*")
            case MessageEnd(message=AssistantMessage() as message):
                self._add(text_of(message.content))
            case MessageEnd(message=ToolResultMessage() as message):
                self._add(self._call(message))
            case ToolExecutionStart():
                self._titles[event.tool_call_id] = event.title
            case FileChanged():
                self._changes[event.tool_call_id] = event
            case ToolExecutionEnd():
                self._ended[event.tool_call_id] = event
            case ApprovalRequested():
                self._ask(event)
            case ApprovalResolved():
                self._write(resolution_line(event))
            case RetryScheduled():
                seconds = event.delay_ms / 1000
                self._write(f"*{event.reason} Trying again in {seconds:g} s ({event.attempt}).*")
            case CompactionEnd() if event.error is None:
                self._write("*The beginning of this chat was summarised for the model.*")
            case Notice() if event.level != "info":
                self._write(f"*{event.message}*")
            case TurnEnd():
                self._write()
            case AgentEnd():
                self._write(ending(event))
                self._forget()
            case _:
                pass

    def _ask(self, event: ApprovalRequested) -> None:
        asked = [each for each in self._session.agent.approvals.open if each.id == event.approval_id]
        self._shown.add(event.tool_call_id)
        self._write(*map(question_lines, asked))

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

    def _add(self, block: str) -> None:
        if block.strip():
            self._blocks.append(block.strip())

    def _write(self, *blocks: str) -> None:
        """All that has come together, as one change."""
        for block in blocks:
            self._add(block)
        if self._blocks:
            text = "\n\n".join(self._blocks)
            self._blocks.clear()
            self._document.write(partial(_added, text))

    def _forget(self) -> None:
        for kept in (self._titles, self._ended, self._changes, self._shown):
            kept.clear()


def _added(block: str, text: str, again: bool) -> str:
    return answered(text, block, again)
