"""What was refused in a run, whether anything else came of it, and what would allow it."""

from __future__ import annotations

from pilothouse_cli.run.options import Approve
from pilothouse_cli.run.view import Json
from pilothouse_cli.terminal.text import count

__all__ = ["Denials"]

_ALLOW_CHANGES = "--approve edits allows changes of files in the folder"
_ALLOW_ALL = "--approve all allows whatever no rule denies"
_CHANGES = frozenset({"edit", "delete", "move"})


class Denials:
    """`event` takes the params of each `agent/event`."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._denied: set[str] = set()
        """Kinds of the calls that were."""
        self._ran = False

    def event(self, event: Json) -> None:
        match event.get("type"):
            case "tool_execution_start":
                self._kinds[event["toolCallId"]] = event["kind"]
            case "tool_execution_end":
                kind = self._kinds.pop(event["toolCallId"], "other")
                if event["outcome"] == "denied":
                    self._denied.add(kind)
                elif event["outcome"] == "ok" and kind != "think":
                    self._ran = True
            case _:
                return

    def are_all(self, result: Json) -> bool:
        """Nothing else came of the run: no answer, no call that did something."""
        return bool(result.get("denied")) and not self._ran and not result["text"].strip()

    def hint(self, result: Json, approve: Approve | None, *, asked: bool) -> str | None:
        """A sentence; None when nothing was denied, or by a person only, who knows what they want."""
        if not (number := result.get("denied")):
            return None
        denied = f"{count(number, 'call')} {'was' if number == 1 else 'were'} denied"
        if approve == "all":
            return f"{denied} by a rule of the permissions."
        if asked:
            return None
        if approve != "edits" and self._denied <= _CHANGES:
            return f"{denied}. {_ALLOW_CHANGES}; {_ALLOW_ALL}."
        return f"{denied}. {_ALLOW_ALL}."
