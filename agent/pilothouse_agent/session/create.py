"""Puts a session together: files, tools, permissions, prompt, agent."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.encodings import DeclaredEncodings
from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.undo.journal import ChangeJournal
from pilothouse_agent.files.undo.rewind import rewind
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.agent import Agent
from pilothouse_agent.kernel.clock import SystemClock
from pilothouse_agent.kernel.compaction import DropOldestTurns
from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.messages import Message
from pilothouse_agent.kernel.parts import AgentParts, random_id
from pilothouse_agent.kernel.ports import Approver, FilePort, ModelProvider, NewsSource, Tool
from pilothouse_agent.kernel.request import ImageLimits, ThinkingLevel
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.permission_config import pipeline_from
from pilothouse_agent.permissions.pipeline import Pipeline
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.extras import Extras
from pilothouse_agent.session.keeping import Keeping
from pilothouse_agent.session.log.kept import KeptLog
from pilothouse_agent.session.log.restore import Restored
from pilothouse_agent.session.open_folders import OpenFolders
from pilothouse_agent.session.prompt import Environment, PromptMaker
from pilothouse_agent.session.recording import RunRecorder
from pilothouse_agent.settings.places import changes_file
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.tool_names import OPTIONAL_TOOL_NAMES, TOOL_NAMES
from pilothouse_agent.tools.files.delete_file import DeleteFileTool
from pilothouse_agent.tools.files.edit_file import EditFileTool
from pilothouse_agent.tools.files.move_file import MoveFileTool
from pilothouse_agent.tools.files.read_file import ReadFileTool
from pilothouse_agent.tools.files.write_file import WriteFileTool
from pilothouse_agent.tools.planning.complete_step import CompleteStepTool
from pilothouse_agent.tools.planning.todo_write import TodoWriteTool
from pilothouse_agent.tools.planning.todos import TodoList
from pilothouse_agent.tools.registry import ToolRegistry
from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_agent.tools.search.grep import GrepTool
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.shell.background import BackgroundProcesses
from pilothouse_agent.tools.shell.bash import BashTool
from pilothouse_agent.tools.shell.environment import child_environment
from pilothouse_agent.tools.shell.output import OutputLimits
from pilothouse_agent.tools.shell.running import Shell

__all__ = ["SessionOptions", "create_session"]

logger = logging.getLogger(__name__)

_LAST_LINES = 1.0
"""Seconds that the log is given to be written when its session ends."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    session_id: str
    folders: tuple[str, ...]
    """Absolute; the first is the working folder."""
    model: str
    mode: ApprovalMode
    settings: Settings
    environment: Mapping[str, str]
    """Child processes get it with the secrets removed."""
    thinking: ThinkingLevel | None = None
    """None: as the settings have it."""
    trusted: bool = False
    """Whether settings that come from the workspace may loosen permissions."""


def create_session(
    options: SessionOptions,
    *,
    provider: ModelProvider,
    queue: WriteQueue,
    approver: Approver | None,
    open_files: Callable[[Workspace], OpenFiles] | None = None,
    extras: Callable[[Workspace], Extras] | None = None,
    kept: KeptLog | None = None,
) -> tuple[AgentSession, list[str]]:
    """A session, and a sentence for each setting without effect. Files are on disk, but for those that
    `open_files` holds. It goes on as `kept` has it, and is kept there; the first listener is the log.

    `queue` is the process's; the caller closes the session. Blocks for a moment (resolves folders).
    """
    workspace = Workspace(options.folders)
    settings = options.settings
    extra = extras(workspace) if extras is not None else Extras()
    journal = ChangeJournal(changes_file(options.environment, options.session_id))
    recorder = RunRecorder(journal, also=extra.changed)
    held = open_files(workspace) if open_files is not None else None
    if held is not None:
        workspace.foreign = held.foreign
    encodings = DeclaredEncodings(
        workspace.folders,
        globs={glob: str(name) for glob, name in (settings.files_encodings or {}).items()},
        editor=held.encoding if held is not None else None,
    )
    files = DiskFiles(
        queue,
        display=workspace.display,
        write_limit=settings.tools_write_limit,
        open_files=held,
        recorder=recorder,
        encodings=encodings,
    )
    before = kept.restored if kept is not None else Restored()
    todos = TodoList(before.todos)
    # Made by the first command that needs it: a process that is killed then leaves nothing behind.
    output = Path(tempfile.gettempdir(), f"pilothouse-{secrets.token_hex(8)}")
    environment = child_environment(options.environment)
    shell = Shell(workspace.cwd, environment)
    background = BackgroundProcesses(shell, output)
    added = [tool.spec.name for tool in extra.tools]
    judging = partial(_judging, settings, workspace, str(output), added)
    permissions, complaints = judging(trusted=options.trusted)
    permissions.mode = options.mode

    def tools_for(settings: Settings) -> ToolRegistry:
        limits = OutputLimits(settings.tools_output_lines, settings.tools_output_bytes)
        bash = BashTool(
            shell,
            background,
            output,
            timeout=settings.tools_bash_timeout,
            limits=limits,
            read_only=_is_read_only,
            before=extra.before_command,
        )
        return ToolRegistry(
            [
                *_file_tools(workspace, files, limits, lambda: provider.limits(agent.state.model).images),
                *_search_tools(workspace, environment, permissions.protected_globs, limits, held),
                bash,
                TodoWriteTool(todos),
                CompleteStepTool(todos),
                *extra.tools,
            ]
        )

    parts = AgentParts(
        provider,
        session_id=options.session_id,
        permissions=permissions,
        approver=approver,
        files=files,
        compactor=DropOldestTurns(SystemClock(), partial(random_id, "msg"), todos),
        retry=settings.for_retries(),
        todos=todos,
        news=_AllNews(background, extra.news),
        hooks=extra.hooks,
        settings=settings.for_runs(),
    )
    agent = _agent(parts, tools_for(settings), options, workspace, before.messages)
    keeping = Keeping(agent, kept, mode=options.mode) if kept is not None else None
    recorder.run_id = lambda: agent.run_id
    recorder.complain = lambda text: agent.notify(Notice("warning", text, "undo"))

    def use_mode(mode: ApprovalMode) -> None:
        permissions.mode = mode

    def use_settings(settings: Settings) -> None:
        judging = partial(_judging, settings, workspace, str(output), added)
        folders.judge_by(lambda trusted: judging(trusted=trusted)[0])
        agent.set_tools(tools_for(settings))

    async def release() -> None:
        if extra.close is not None:
            extra.close()
        if keeping is not None and not await keeping.close(_LAST_LINES):
            logger.warning("The end of session %s could not be saved", options.session_id)
        await asyncio.gather(background.close(), shell.close())
        await asyncio.to_thread(shutil.rmtree, output, ignore_errors=True)

    folders = OpenFolders(
        workspace,
        permissions,
        encodings,
        agent,
        judging=lambda trusted: judging(trusted=trusted)[0],
        prompt=partial(_prompt, workspace, settings),
        trusted=options.trusted,
    )
    session = AgentSession(
        options.session_id,
        agent,
        cwd=workspace.cwd,
        mode=options.mode,
        release=release,
        undo=partial(rewind, files, journal),
        use_mode=use_mode,
        folders=folders,
        use_settings=use_settings,
        keeping=keeping,
    )
    return session, complaints


class _AllNews:
    """Implements the kernel's `NewsSource` over several."""

    def __init__(self, *sources: NewsSource | None) -> None:
        self._sources = [source for source in sources if source is not None]

    def take(self) -> Sequence[tuple[str, str]]:
        return [each for source in self._sources for each in source.take()]


def _agent(
    parts: AgentParts,
    tools: ToolRegistry,
    options: SessionOptions,
    workspace: Workspace,
    messages: Sequence[Message],
) -> Agent:
    settings = options.settings
    agent = Agent(
        parts,
        model=options.model,
        tools=tools,
        system_prompt=_prompt(workspace, settings),
        thinking=options.thinking or settings.thinking,
        messages=messages,
    )
    agent.set_queue_mode("steering", settings.queue_steering)
    agent.set_queue_mode("followUp", settings.queue_follow_up)
    return agent


def _prompt(workspace: Workspace, settings: Settings) -> PromptMaker:
    environment = Environment(workspace.places, date.today())
    return PromptMaker(environment, schemas=settings.tools_schemas_in_prompt)


def _judging(
    settings: Settings, workspace: Workspace, output: str, added: Sequence[str], *, trusted: bool
) -> tuple[Pipeline, list[str]]:
    return pipeline_from(
        settings.permissions,
        folders=(*workspace.folders, output),
        tools=(*TOOL_NAMES, *OPTIONAL_TOOL_NAMES, *added),
        trusted=trusted,
        cwd=workspace.cwd,
    )


def _file_tools(
    workspace: Workspace, files: FilePort, limits: OutputLimits, images: Callable[[], ImageLimits]
) -> list[Tool]:
    changing = (WriteFileTool, EditFileTool, MoveFileTool, DeleteFileTool)
    reading = ReadFileTool(workspace, files, limits=limits, images=images)
    return [reading, *(tool(workspace, files) for tool in changing)]


def _is_read_only(command: str) -> bool:
    # Late, because reading shell takes a while to load and the first command is far away.
    from pilothouse_agent.permissions.read_only import is_read_only

    return is_read_only(command)


def _search_tools(
    workspace: Workspace,
    environment: Mapping[str, str],
    hidden: tuple[str, ...],
    limits: OutputLimits,
    held: OpenFiles | None,
) -> list[Tool]:
    ripgrep = Ripgrep(environment)
    return [
        GlobFileTool(workspace, ripgrep, protected=hidden, open_files=held),
        GrepTool(workspace, ripgrep, protected=hidden, limits=limits, open_files=held),
    ]
