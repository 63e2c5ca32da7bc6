"""The tool that runs shell commands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, field_validator

from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.ports import PlannedFiles, ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, Preview, ToolError, ToolResult, Touch
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.shell.background import BackgroundProcesses, Started
from pilothouse_agent.tools.shell.exit_words import exit_words
from pilothouse_agent.tools.shell.output import CommandOutput, OutputLimits
from pilothouse_agent.tools.shell.running import Ending, Shell
from pilothouse_agent.tools.shell.terminal_text import TerminalText
from pilothouse_agent.tools.visible import visible

__all__ = ["BashTool"]

MAX_TIMEOUT = 3600.0
_TITLE_LENGTH = 200
_EARLY_SHOWN = 4_096

_DESCRIPTION = """\
Run a command with bash in the working folder. Every call is a fresh shell: `cd` and variables do not last. \
There is no input and no terminal, so a program that asks something gets end of file. Standard output and \
standard error come back merged; of long output its beginning and its end, with the path of a file that has \
all of it. When the command ends, times out or is aborted, everything it has started is stopped; what has \
left its process group by itself is named after a normal end and stopped with the session. Set \
`background` for a server or watcher that is to go on: the call then returns at once with the process id and \
the path of a file that collects the output; you are told when it ends; it is stopped with the session."""


class BashArguments(Arguments):
    command: str = Field(min_length=1, description="What bash is to run; may have several lines.")
    timeout: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description=f"Seconds until it is stopped, at most {MAX_TIMEOUT:.0f}.",
    )
    description: str | None = Field(default=None, description="What it is for, in a few words.")
    background: bool = Field(default=False, description="Start it and return at once.")

    @field_validator("command")
    @classmethod
    def _has_no_nul(cls, command: str) -> str:
        if "\0" in command:
            raise ValueError("holds a NUL character, which no command can have; write it as an escape")
        return command


class BashTool:
    """Runs commands of a `Shell`; those that are to go on are handed to `background`."""

    kind: ToolKind = "execute"

    def __init__(
        self,
        shell: Shell,
        background: BackgroundProcesses,
        output_folder: Path,
        *,
        timeout: float = 120.0,
        limits: OutputLimits | None = None,
        read_only: Callable[[str], bool] = lambda command: False,
        before: Callable[[], Awaitable[Sequence[str]]] | None = None,
    ) -> None:
        """`output_folder` gets the whole of long outputs; `read_only` says which commands change nothing;
        `before` is run before each command and gives notes for its result."""
        self.shell = shell
        self.background = background
        self.output_folder = output_folder
        self.timeout = timeout
        self.limits = limits or OutputLimits()
        self._read_only = read_only
        self._before = before
        self.spec = ToolSpec("bash", _DESCRIPTION, schema_of(BashArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        wanted = validate(BashArguments, arguments)
        run = _Command(self, wanted, self.shell.folder())
        return BoundCall(
            title=_title(wanted),
            footprint=self._footprint(wanted.command, run.folder),
            command=wanted.command,
            show=run.show,
            run=run.run,
        )

    async def prepared(self) -> Sequence[str]:
        return await self._before() if self._before is not None else ()

    def _footprint(self, command: str, folder: str) -> Footprint:
        """Where the working folder is gone, also the folder it runs in, so that this is judged too."""
        touched = () if folder == self.shell.cwd else (Touch(folder, subtree=True),)
        if self._read_only(command):
            return Footprint(reads=touched, extent="readsEverything")
        return Footprint(writes=touched, extent="touchesEverything")


@dataclass(frozen=True, slots=True)
class _Command:
    tool: BashTool
    arguments: BashArguments
    folder: str
    """Where it runs."""

    async def show(self, planned: PlannedFiles) -> Preview:
        return Preview(command=await asyncio.to_thread(visible, self.arguments.command, lines=True))

    async def run(self, context: ToolContext) -> ToolResult:
        before = [*self._elsewhere(), *await self.tool.prepared()]
        if self.arguments.background:
            return await self._start(before)
        output = CommandOutput(context.progress, self.tool.output_folder, self.tool.limits)
        try:
            ending = await self._run(output, context)
            text, file = await output.finish()
        finally:
            output.close()
        return self._result(ending, text, file, before)

    async def _run(self, output: CommandOutput, context: ToolContext) -> Ending:
        try:
            return await self.tool.shell.run(
                self.arguments.command,
                output,
                folder=self.folder,
                timeout=self._timeout,
                signal=context.signal,
            )
        except asyncio.CancelledError:
            # An abort also cancels this task. That is what the result says then, with the output so far.
            if not context.signal.aborted:
                raise
            return Ending("aborted")

    async def _start(self, before: Sequence[str]) -> ToolResult:
        started = await self.tool.background.start(self.arguments.command, folder=self.folder)
        pid, path = started.pid, started.path
        if started.code is not None:
            return await self._ended_early(started, before)
        text = (
            f"Started in the background with process id {pid}; it runs until it ends or the session does. "
            f"Its output goes to {path}. To stop it with all it has started: kill -- -{pid}"
        )
        text = "\n".join([text, *(f"[{note}]" for note in before)])
        return ToolResult((TextBlock(text),), details={"pid": pid, "outputFile": path})

    async def _ended_early(self, started: Started, before: Sequence[str]) -> ToolResult:
        shown = await asyncio.to_thread(_end_of_file, started.path)
        notes = [f"it ended at once; its output is in {started.path}", *before]
        text = "\n".join([shown, *(f"[{note}]" for note in notes)])
        details: JsonObject = {"exitCode": started.code, "outputFile": started.path}
        return ToolResult((TextBlock(text),), is_error=started.code != 0, details=details)

    def _elsewhere(self) -> list[str]:
        cwd = self.tool.shell.cwd
        if self.folder == cwd:
            return []
        return [f"the working folder {cwd} does not exist any more, so this ran in {self.folder}"]

    @property
    def _timeout(self) -> float:
        return min(self.arguments.timeout or self.tool.timeout, MAX_TIMEOUT)

    def _result(self, ending: Ending, text: str, file: str | None, before: Sequence[str]) -> ToolResult:
        notes = [*self._clamped(), *_notes(ending, self._timeout), *before]
        shown = "\n".join([text or "(no output)", *(f"[{note}]" for note in notes)])
        if ending.cause == "aborted":
            # As an error it becomes the text of an aborted call, not of one that ran.
            raise ToolError(shown)
        details: JsonObject = {"exitCode": ending.code, "cause": ending.cause, "outputFile": file}
        failed = ending.cause != "exited" or ending.code != 0
        return ToolResult((TextBlock(shown),), is_error=failed, details=details)

    def _clamped(self) -> list[str]:
        wanted = self.arguments.timeout or 0
        return [f"timeout was cut down to its upper limit of {MAX_TIMEOUT:.0f} s"] * (wanted > MAX_TIMEOUT)


def _title(wanted: BashArguments) -> str:
    shown = visible(wanted.command)
    rest = len(shown) - _TITLE_LENGTH
    cut = f"{shown[:_TITLE_LENGTH]} … ({rest:,} more characters)" if rest > 0 else shown
    return f"{'Start' if wanted.background else 'Run'} {cut}"


def _notes(ending: Ending, timeout: float) -> list[str]:
    notes = [_cause(ending, timeout)]
    if ending.stopped_others:
        notes.append("processes it had left in the background were stopped; use `background` to keep one")
    if ending.running:
        listed = ", ".join(ending.running)
        notes.append(
            f"it left running, in sessions of their own: {listed}; they are stopped when the session ends"
            if ending.cause == "exited"
            else f"could not be stopped: {listed}"
        )
    return [note for note in notes if note]


def _cause(ending: Ending, timeout: float) -> str:
    if ending.cause == "aborted":
        return "aborted: the command and all it had started were stopped; its effects so far remain"
    if ending.cause == "timedOut" and ending.code is None:
        return f"timed out after {timeout:g} s and could not be stopped; it may still be running"
    if ending.cause == "timedOut":
        return f"timed out after {timeout:g} s and was stopped; a longer `timeout` may be given"
    if ending.code is None:
        return "its exit code could not be found out"
    return exit_words(ending.code) if ending.code else ""


def _end_of_file(path: str) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _EARLY_SHOWN))
        cleaned = TerminalText()
        text = cleaned.feed(file.read().decode("utf-8", "replace")) + cleaned.finish()
    return text.removesuffix("\n")
