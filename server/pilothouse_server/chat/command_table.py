"""Which command is which method of the door."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_server.protocol import command_arguments as shapes
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.typed import Methods
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import command_names as commands

if TYPE_CHECKING:
    from pilothouse_server.chat.plain_door import PlainDoor

__all__ = ["register_commands"]


def register_commands(methods: Methods, door: PlainDoor) -> None:
    @methods.typed(commands.PROMPT, shapes.MessageArguments)
    def prompt(given: shapes.MessageArguments) -> Waiting:
        return _kept(door.prompt(given))

    @methods.typed(commands.STEER, shapes.MessageArguments)
    def steer(given: shapes.MessageArguments) -> Waiting:
        return _kept(door.deliver(given, steer=True))

    @methods.typed(commands.FOLLOW_UP, shapes.MessageArguments)
    def follow_up(given: shapes.MessageArguments) -> Waiting:
        return _kept(door.deliver(given, steer=False))

    @methods.typed(commands.ABORT, shapes.AbortArguments)
    def abort(given: shapes.AbortArguments) -> Waiting:
        return _kept(door.abort(given))

    @methods.typed(commands.APPROVE, shapes.ApproveArguments)
    def approve(given: shapes.ApproveArguments) -> protocol.EmptyResult:
        return door.answer(given.approval_id, lambda question: _yes(question, given.option_id))

    @methods.typed(commands.DENY, shapes.DenyArguments)
    def deny(given: shapes.DenyArguments) -> protocol.EmptyResult:
        return door.answer(given.approval_id, lambda question: _no(question, given))

    @methods.typed(commands.NEW_CHAT, shapes.NoArguments)
    def new_chat(given: shapes.NoArguments) -> Waiting:
        return _kept(door.new_chat())

    @methods.typed(commands.OPEN_CHAT, shapes.NoArguments)
    def open_chat(given: shapes.NoArguments) -> Waiting:
        return _kept(door.open_chat())

    @methods.typed(commands.QUOTE, shapes.QuoteArguments)
    def quote(given: shapes.QuoteArguments) -> Waiting:
        return _kept(door.quote(given))

    @methods.typed(commands.UNDO_RUN, shapes.UndoArguments)
    def undo_run(given: shapes.UndoArguments) -> Waiting:
        return _kept(door.undo_run(given))

    _ = (prompt, steer, follow_up, abort, approve, deny, new_chat, open_chat, quote, undo_run)


def _kept(answer: Awaitable[Any]) -> Waiting:
    """A command is carried out even when its answer is not wanted any more."""
    return Waiting(answer, lambda: None)


def _yes(question: Question, option_id: str | None) -> Answer:
    once = next((option.id for option in question.options if option.kind == "allowOnce"), "")
    return Answer(option_id or once, by="command")


def _no(question: Question, given: shapes.DenyArguments) -> Answer:
    reject = next((option.id for option in question.options if option.kind == "rejectOnce"), "")
    return Answer(reject, given.reason, given.stop, by="command")
