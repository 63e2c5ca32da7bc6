"""The code actions that stand for commands: answers to open questions everywhere, in the chat document its
own, elsewhere what can be asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pilothouse_agent.kernel.events import Option
from pilothouse_agent.kernel.questions import Question
from pilothouse_agent.tools.visible import visible
from pilothouse_server.chat.editor_prompts import (
    Spot,
    diagnostic_prompt,
    explain_prompt,
    note_prompt,
    note_within,
    quote,
)
from pilothouse_server.client.positions import position_in
from pilothouse_server.wire import command_names as commands
from pilothouse_server.wire.json_object import Json

__all__ = ["OPEN_CHAT", "chat_actions", "file_actions", "fitting", "question_actions"]


_REWRITE = "refactor.rewrite"
_DIAGNOSTICS = 3
"""Those of one place that are offered to be fixed."""
_TITLE = 80
"""Characters."""


def chat_actions(
    *, draft: str, busy: bool, questions: Sequence[Question], undo: Json | None, begun: bool
) -> Iterator[Json]:
    """`undo`: what names the run that can be undone."""
    for question in questions:
        yield from question_actions(question)
    if draft and busy:
        yield _action("Steer: tell the agent now", commands.STEER)
        yield _action("Follow up: send this after the run", commands.FOLLOW_UP)
    elif draft:
        yield _action("Send", commands.PROMPT)
    if busy:
        yield _action("Stop", commands.ABORT)
        return
    if undo is not None:
        yield _action("Undo run", commands.UNDO_RUN, undo)
        merging = {**undo, "merge": True}
        yield _action("Undo run, keep later changes in its files", commands.UNDO_RUN, merging)
    if begun:
        yield _action("New chat", commands.NEW_CHAT)


def question_actions(question: Question) -> Iterator[Json]:
    """Rejecting first, as in a message."""
    rejecting = {"approvalId": question.id}
    yield _action(f"Reject: {question.title}", commands.DENY, rejecting)
    yield _action(f"Reject and stop: {question.title}", commands.DENY, {**rejecting, "stop": True})
    for option in question.options:
        if option.kind in ("allowOnce", "allowAlways"):
            arguments = {"approvalId": question.id, "optionId": option.id}
            yield _action(f"{option.label}: {_allowed(option, question)}", commands.APPROVE, arguments)


def file_actions(spot: Spot, diagnostics: Iterable[Any]) -> Iterator[Json]:
    """What sends nothing comes first: some editors carry out the first one."""
    yield OPEN_CHAT
    if found := note_within(spot):
        line, note = found
        action = _action(f"Do “{note}”", commands.PROMPT, {"text": note_prompt(spot, line, note)})
        yield {**action, "kind": _REWRITE}
    for diagnostic in list(diagnostics)[:_DIAGNOSTICS]:
        yield from _fix(spot, diagnostic)
    if spot.is_selection:
        yield _action("Explain the selection", commands.PROMPT, {"text": explain_prompt(spot)})
        yield _action("Ask about the selection in the chat", commands.QUOTE, {"text": f"In {quote(spot)}"})


def fitting(actions: Iterable[Json], only: object, *, literals: bool, usual: str = "source") -> list[Json]:
    """Those of the kinds asked for; as bare commands for an editor that takes no more.

    `usual` is the kind of those that are about the conversation.
    """
    kinds = cast("list[Any]", only) if isinstance(only, list) else []
    all_kinds: Iterable[Json] = ({"kind": usual, **action} for action in actions)
    kept = [action for action in all_kinds if not kinds or _is_of(action["kind"], kinds)]
    return kept if literals else [action["command"] for action in kept]


def _fix(spot: Spot, diagnostic: Any) -> Iterator[Json]:
    fields: Mapping[str, Any] = cast("Json", diagnostic) if isinstance(diagnostic, dict) else {}
    message = fields.get("message")
    if isinstance(message, str) and message.strip():
        text = diagnostic_prompt(_at(spot, fields.get("range")), message, dict(fields))
        action = _action(f"Fix “{message.strip()}”", commands.PROMPT, {"text": text})
        yield {**action, "kind": "quickfix", "diagnostics": [diagnostic]}


def _at(spot: Spot, span: object) -> Spot:
    """Where the diagnostic is, as far as it says."""
    fields: Json = cast("Json", span) if isinstance(span, dict) else {}
    start, end = position_in(fields.get("start")), position_in(fields.get("end"))
    return spot if start is None or end is None or end < start else replace(spot, start=start, end=end)


def _is_of(kind: str, asked: Sequence[Any]) -> bool:
    return any(each == "" or kind == each or kind.startswith(f"{each}.") for each in asked)


def _allowed(option: Option, question: Question) -> str:
    return option.scope if option.kind == "allowAlways" and option.scope else question.title


def _action(title: str, command: str, arguments: Json | None = None) -> Json:
    shown = _short(f"Pilothouse: {visible(title)}")
    run: Json = {"title": shown, "command": command}
    if arguments is not None:
        run["arguments"] = [arguments]
    return {"title": shown, "command": run}


def _short(title: str) -> str:
    return title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…"


OPEN_CHAT = _action("Open the chat", commands.OPEN_CHAT)
