"""What editors without a plugin use: commands and code actions, carried out by the plain door."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pygls.lsp.server import LanguageServer

from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_server.chat.command_errors import CommandErrors
from pilothouse_server.chat.door_on_demand import DoorOnDemand
from pilothouse_server.protocol import command_arguments as shapes
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import command_names as commands
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import RequestFault
from pilothouse_server.wire.json_object import Json

__all__ = ["register_command_methods", "register_commands"]


def register_command_methods(
    server: LanguageServer,
    door: DoorOnDemand,
    errors: CommandErrors,
    run: Callable[[str, Json], Any],
) -> None:
    """`run` calls a registered command with its object."""

    @server.feature(names.EXECUTE_COMMAND)
    def execute(params: Json) -> Any:
        try:
            outcome = run(*shapes.command_in(params))
        except RequestFault as error:
            raise errors.put(error) from None
        if isinstance(outcome, Waiting):
            return Waiting(errors.around(outcome.answer), outcome.on_cancel)
        return outcome

    @server.feature(names.CODE_ACTION)
    def offer(params: Json) -> Any:
        if door.opened is not None:
            return door.opened.offer(params)
        return _kept(door.use(lambda plain: _all(plain.offer(params))))

    _ = (execute, offer)


def register_commands(server: LanguageServer, door: DoorOnDemand, book: Sessions) -> None:
    @server.command(commands.PROMPT)
    def prompt(given: shapes.MessageArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.prompt(given)))

    @server.command(commands.STEER)
    def steer(given: shapes.MessageArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.deliver(given, steer=True)))

    @server.command(commands.FOLLOW_UP)
    def follow_up(given: shapes.MessageArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.deliver(given, steer=False)))

    @server.command(commands.ABORT)
    def abort(given: shapes.AbortArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.abort(given)))

    @server.command(commands.APPROVE)
    def approve(given: shapes.ApproveArguments) -> protocol.EmptyResult:
        return _answer(book, given.approval_id, lambda question: _yes(question, given.option_id))

    @server.command(commands.DENY)
    def deny(given: shapes.DenyArguments) -> protocol.EmptyResult:
        return _answer(book, given.approval_id, lambda question: _no(question, given))

    @server.command(commands.NEW_CHAT)
    def new_chat(given: shapes.NoArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.new_chat()))

    @server.command(commands.OPEN_CHAT)
    def open_chat(given: shapes.NoArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.open_chat()))

    @server.command(commands.QUOTE)
    def quote(given: shapes.QuoteArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.quote(given)))

    @server.command(commands.UNDO_RUN)
    def undo_run(given: shapes.UndoArguments) -> Waiting:
        return _kept(door.use(lambda plain: plain.undo_run(given)))

    _ = (prompt, steer, follow_up, abort, approve, deny, new_chat, open_chat, quote, undo_run)


def _kept(answer: Awaitable[Any]) -> Waiting:
    """What was asked for is carried out even when its answer is not wanted any more."""
    return Waiting(answer, lambda: None)


async def _all(actions: Sequence[Json] | Awaitable[Sequence[Json]]) -> Sequence[Json]:
    return await actions if inspect.isawaitable(actions) else actions


def _answer(
    book: Sessions, approval_id: str | None, choose: Callable[[Question], Answer]
) -> protocol.EmptyResult:
    """Answer the question of this id, or the only one that is open."""
    of_all = [(session, each) for session in book.all() for each in session.agent.approvals.open]
    meant = [(session, each) for session, each in of_all if approval_id in (None, each.id)]
    if len(meant) > 1:
        listed = "; ".join(f"{each.id} ({each.title})" for _, each in meant)
        raise invalid("approvalId", f"several questions are open; name one of {listed}")
    for session, question in meant:
        if session.agent.approvals.answer(question.id, choose(question)):
            return protocol.EmptyResult()
    raise fault(protocol.ALREADY_RESOLVED, "No such question is open; it may have been answered already.")


def _yes(question: Question, option_id: str | None) -> Answer:
    once = next((option.id for option in question.options if option.kind == "allowOnce"), "")
    return Answer(option_id or once, by="command")


def _no(question: Question, given: shapes.DenyArguments) -> Answer:
    reject = next((option.id for option in question.options if option.kind == "rejectOnce"), "")
    return Answer(reject, given.reason, given.stop, by="command")
