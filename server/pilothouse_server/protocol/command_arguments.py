"""What the commands take and give back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pilothouse_server.protocol.faults import invalid
from pilothouse_server.protocol.models import Wire
from pilothouse_server.wire import command_names

__all__ = [
    "AbortArguments",
    "AbortedResult",
    "ApproveArguments",
    "ChatResult",
    "DeliveredResult",
    "DenyArguments",
    "MessageArguments",
    "NoArguments",
    "QuoteArguments",
    "StartedResult",
    "UndoArguments",
    "command_in",
]


class NoArguments(Wire):
    pass


class MessageArguments(Wire):
    text: str | None = None
    """Absent: what is written below the last heading of the chat document."""
    session_id: str | None = None
    """Absent: the chat's, made when there is none."""


class AbortArguments(Wire):
    session_id: str | None = None


class ApproveArguments(Wire):
    approval_id: str | None = None
    """Absent: the only question that is open; with several it has to be named."""
    option_id: str | None = None
    """Absent: the option that allows it once."""


class DenyArguments(Wire):
    approval_id: str | None = None
    reason: str | None = None
    """Told to the model."""
    stop: bool = False
    """End the run as well."""


class QuoteArguments(Wire):
    text: str


class UndoArguments(Wire):
    session_id: str | None = None
    run_id: str | None = None
    """Absent: the last run that changed files and is not undone."""
    merge: bool = False
    """Also where others have changed a file since: with their changes left in."""


class StartedResult(Wire):
    session_id: str
    run_id: str


class DeliveredResult(Wire):
    session_id: str
    run_id: str | None
    queue_id: str
    delivery: str


class AbortedResult(Wire):
    session_id: str | None
    run_id: str | None


class ChatResult(Wire):
    uri: str
    shown: bool
    """Whether the editor says that it shows it."""


def command_in(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The command and its object. An empty list, as some editors send an empty object, counts as one.

    Raises a fault.
    """
    command = params.get("command")
    if command not in command_names.ALL:
        raise invalid("command", f"there is no command {command!r}; there are {', '.join(command_names.ALL)}")
    listed: Any = params.get("arguments") or []
    arguments = cast("list[Any]", listed) if isinstance(listed, list) else [listed]
    given: Any = arguments[0] if arguments else None
    if len(arguments) > 1 or not isinstance(given or {}, dict):
        raise invalid("arguments", f"{command} takes one object or nothing")
    return command, cast("dict[str, Any]", given or {})
