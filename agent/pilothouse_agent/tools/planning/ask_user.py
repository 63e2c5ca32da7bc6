"""The tool by which the model asks the user."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from pydantic import Field

from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolResult, Violation
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.limits import sendable
from pilothouse_agent.tools.visible import visible

__all__ = ["AskUserTool", "Asker"]

_DESCRIPTION = """\
Ask the user one question and wait for the answer. For decisions that only the user can make and that what \
you can read does not settle; not for permission to go on."""
_FREELY = " The user may answer by one of the options or in other words."
_BY_OPTION = " Give the options: this user can only choose among them."

_UNANSWERED = (
    "The user gave no answer. Decide as well as you can, or end and say what you need to know to go on."
)


class Asker(Protocol):
    @property
    def needs_options(self) -> bool:
        """Whether the user can only choose."""
        ...

    async def ask(self, question: str, options: tuple[str, ...]) -> str | None:
        """Wait for the user, as long as it takes; None for no answer. Raises `ToolError`.

        Cancelled at an abort; the display must then go away.
        """
        ...


class AskUserArguments(Arguments):
    question: str = Field(min_length=1, description="One question, with what is needed to answer it.")
    options: list[str] = Field(
        default_factory=list, max_length=10, description="Answers to choose from, short."
    )


class AskUserTool:
    kind: ToolKind = "think"

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        how = _BY_OPTION if asker.needs_options else _FREELY
        self.spec = ToolSpec("ask_user", _DESCRIPTION + how, schema_of(AskUserArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        values = validate(AskUserArguments, arguments)
        options = tuple(dict.fromkeys(option for option in values.options if option.strip()))
        if self._asker.needs_options and not options:
            raise InvalidArguments((Violation("options", "this user can only choose; give the answers"),))
        title = f"Ask: {visible(values.question)}"
        return BoundCall(title=title, run=partial(self._ask, values.question, options))

    async def _ask(self, question: str, options: tuple[str, ...], context: ToolContext) -> ToolResult:
        answer = await self._asker.ask(question, options)
        if answer is None or not answer.strip():
            return ToolResult.text(_UNANSWERED)
        return ToolResult.text(f"The user answers: {sendable(answer)}")
