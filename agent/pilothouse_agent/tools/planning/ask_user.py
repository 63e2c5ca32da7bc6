"""The tool by which the model asks the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, InvalidArguments, ToolResult, Violation
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.limits import sendable
from pilothouse_agent.tools.visible import visible

__all__ = ["AskUserTool", "Asker"]

_NOTHING = Footprint()

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

    def bind(self, arguments: JsonObject) -> AskUserInvocation:
        values = validate(AskUserArguments, arguments)
        options = tuple(dict.fromkeys(option for option in values.options if option.strip()))
        if self._asker.needs_options and not options:
            raise InvalidArguments((Violation("options", "this user can only choose; give the answers"),))
        return AskUserInvocation(self._asker, values.question, options)


@dataclass(frozen=True, slots=True)
class AskUserInvocation:
    asker: Asker
    question: str
    options: tuple[str, ...]
    footprint: Footprint = _NOTHING
    locations: tuple[Location, ...] = ()
    command: None = None

    @property
    def title(self) -> str:
        return f"Ask: {visible(self.question)}"

    async def preview(self, planned: PlannedFiles) -> None:
        return None

    async def execute(self, context: ToolContext) -> ToolResult:
        answer = await self.asker.ask(self.question, self.options)
        if answer is None or not answer.strip():
            return ToolResult.text(_UNANSWERED)
        return ToolResult.text(f"The user answers: {sendable(answer)}")
