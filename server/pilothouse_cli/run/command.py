"""The command `pilothouse run`: puts the parts together and turns the result into an exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from pilothouse_cli.headless import JsonRpcClient, RpcError, ServerGone
from pilothouse_cli.run.approval import TerminalApprover, unaskable
from pilothouse_cli.run.conversation import Conversation
from pilothouse_cli.run.denials import Denials
from pilothouse_cli.run.json_view import JsonView
from pilothouse_cli.run.keyboard import Keyboard
from pilothouse_cli.run.options import RunOptions
from pilothouse_cli.run.standard_streams import StandardStreams
from pilothouse_cli.run.stops import Stop, Stops
from pilothouse_cli.run.text_view import QuietView, TextView
from pilothouse_cli.run.view import Json, View
from pilothouse_cli.terminal.screen import Screen
from pilothouse_server.wire.entry import complain, own_process
from pilothouse_server.wire.method_names import EVENT, PREVIEW, REQUEST_APPROVAL

__all__ = ["exit_code", "run_prompt"]

_ASKING = ("ask", "edits")
_PREVIEW = 10.0
"""Seconds the server has to show a whole question."""
_COMPLETED, _ERROR, _STOPPED_EARLY, _INTERRUPTED = 0, 1, 3, 130


def run_prompt(
    options: RunOptions,
    *,
    server: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Blocks until the run has ended; the exit code.

    `server` is the program that serves it, ours if None; `environment` is the server's, None: our own.
    """
    return asyncio.run(_run(options, server or own_process("serve"), environment))


def exit_code(result: Json, stop: Stop | None, *, only_denials: bool = False) -> int:
    """A run that ended by itself counts as it ended, also when something was about to stop it.

    `only_denials`: nothing came of it but that.
    """
    match result["stopReason"]:
        case "completed" if only_denials:
            return _STOPPED_EARLY
        case "completed":
            return _COMPLETED
        case "error":
            return _ERROR
        case "aborted":
            return stop.exit_code if stop is not None else _INTERRUPTED
        case _:
            return _STOPPED_EARLY


async def _run(options: RunOptions, server: Sequence[str], environment: Mapping[str, str] | None) -> int:
    client = JsonRpcClient()
    with ExitStack() as stack:
        streams = StandardStreams()
        stops = stack.enter_context(Stops(on_force=lambda: (client.kill(), streams.abandon())))
        streams.out.on_broken = lambda: stops.stop(Stop.READER_GONE)
        keyboard = _keyboard(stack, streams.screen, asks=options.approve in (None, *_ASKING))
        options = replace(options, approve=options.approve or ("ask" if keyboard else "none"))
        view, denials = _view(options, streams), Denials()
        client.on_notification(EVENT, lambda event: (denials.event(event), view.event(event))[1])
        approver = None
        if keyboard is not None and options.approve in _ASKING:
            approver = TerminalApprover(
                streams.screen, streams.style, keyboard, whole=partial(_whole, client)
            )
            client.on_request(REQUEST_APPROVAL, approver)
        try:
            conversation = Conversation(client, options, stops, view, asks=approver is not None)
            result = await conversation.hold(server, environment)
            view.result(result)
            asked = approver is not None and approver.asks
            if hint := denials.hint(result, options.approve, asked=asked):
                streams.screen.line(f"pilothouse: {hint}")
        finally:
            await client.close()
            await streams.close()
        if failure := streams.out.failure:
            complain(f"pilothouse: standard output cannot be written: {failure}")
            return _ERROR
        return exit_code(result, stops.cause, only_denials=denials.are_all(result))


def _view(options: RunOptions, streams: StandardStreams) -> View:
    if options.json:
        return JsonView(streams.out, streams.screen)
    if options.quiet:
        return QuietView(streams.screen, streams.answer)
    return TextView(
        streams.screen,
        streams.style,
        live=streams.live,
        answer=None if streams.live and streams.shared else streams.answer,
        place=str(options.cwd),
    )


async def _whole(client: JsonRpcClient, question: Json) -> Json:
    """The question with nothing cut; as it is when the server cannot tell more."""
    try:
        async with asyncio.timeout(_PREVIEW):
            return {
                **question,
                **await client.request(PREVIEW, {"approvalId": question["approvalId"]}),
                "cut": False,
            }
    except (RpcError, ServerGone, TimeoutError):
        return question


def _keyboard(stack: ExitStack, screen: Screen, *, asks: bool) -> Keyboard | None:
    """None where nobody can be asked, which is said where there seems to be somebody."""
    if not sys.stderr.isatty():
        return None
    try:
        return stack.enter_context(Keyboard())
    except OSError as error:
        if asks:
            screen.line(unaskable(error))
        return None
