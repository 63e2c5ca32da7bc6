"""The tools that every session has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.ports import FilePort, Tool
from pilothouse_agent.kernel.request import ImageLimits
from pilothouse_agent.permissions.pipeline import Pipeline
from pilothouse_agent.session.commands import SessionCommands
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.tools.files.delete_file import DeleteFileTool
from pilothouse_agent.tools.files.edit_file import EditFileTool
from pilothouse_agent.tools.files.move_file import MoveFileTool
from pilothouse_agent.tools.files.read_file import ReadFileTool
from pilothouse_agent.tools.files.write_file import WriteFileTool
from pilothouse_agent.tools.planning.complete_step import CompleteStepTool
from pilothouse_agent.tools.planning.todo_write import TodoWriteTool
from pilothouse_agent.tools.planning.todos import TodoList
from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_agent.tools.search.grep import GrepTool
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.shell.bash import BashTool
from pilothouse_agent.tools.shell.output import OutputLimits

__all__ = ["Means", "own_tools"]


@dataclass(frozen=True, slots=True)
class Means:
    """What the tools of a session work with."""

    workspace: Workspace
    files: FilePort
    held: OpenFiles | None
    """The files that an editor holds."""
    commands: SessionCommands
    before_command: Callable[[], Awaitable[Sequence[str]]] | None
    todos: TodoList
    permissions: Pipeline
    images: Callable[[], ImageLimits]
    """Of the model that the session has just then."""


def own_tools(means: Means, settings: Settings) -> list[Tool]:
    """As these settings limit them; searches leave out what the permissions protect now."""
    workspace, files, held = means.workspace, means.files, means.held
    limits = OutputLimits(settings.tools_output_lines, settings.tools_output_bytes)
    ripgrep = Ripgrep(means.commands.environment)
    hidden = means.permissions.protected_globs
    return [
        ReadFileTool(workspace, files, limits=limits, images=means.images),
        WriteFileTool(workspace, files),
        EditFileTool(workspace, files),
        MoveFileTool(workspace, files),
        DeleteFileTool(workspace, files),
        GlobFileTool(workspace, ripgrep, protected=hidden, open_files=held),
        GrepTool(workspace, ripgrep, protected=hidden, limits=limits, open_files=held),
        _bash(means, settings, limits),
        TodoWriteTool(means.todos),
        CompleteStepTool(means.todos),
    ]


def _bash(means: Means, settings: Settings, limits: OutputLimits) -> BashTool:
    return BashTool(
        means.commands.shell,
        means.commands.background,
        means.commands.output,
        timeout=settings.tools_bash_timeout,
        limits=limits,
        read_only=_is_read_only,
        before=means.before_command,
    )


def _is_read_only(command: str) -> bool:
    # Late, because reading shell takes a while to load and the first command is far away.
    from pilothouse_agent.permissions.read_only import is_read_only

    return is_read_only(command)
