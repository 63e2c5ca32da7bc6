"""Puts a session together: files, tools, permissions, prompt, agent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

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
from pilothouse_agent.kernel.ports import Approver, ModelProvider, NewsSource
from pilothouse_agent.kernel.request import ImageLimits, ThinkingLevel
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.permission_config import pipeline_from
from pilothouse_agent.permissions.pipeline import Pipeline
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.commands import SessionCommands
from pilothouse_agent.session.extras import Extras
from pilothouse_agent.session.keeping import Keeping
from pilothouse_agent.session.log.kept import KeptLog
from pilothouse_agent.session.log.restore import Restored
from pilothouse_agent.session.open_folders import OpenFolders
from pilothouse_agent.session.own_tools import Means, own_tools
from pilothouse_agent.session.prompt import Environment, PromptMaker
from pilothouse_agent.session.recording import RunRecorder
from pilothouse_agent.settings.places import changes_file
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.tool_names import OPTIONAL_TOOL_NAMES, TOOL_NAMES
from pilothouse_agent.tools.planning.todos import TodoList
from pilothouse_agent.tools.registry import ToolRegistry
from pilothouse_agent.tools.shell.environment import child_environment

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


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a session stands on before it has an agent."""

    options: SessionOptions
    workspace: Workspace
    extra: Extras
    held: OpenFiles | None
    encodings: DeclaredEncodings
    journal: ChangeJournal
    recorder: RunRecorder
    files: DiskFiles
    commands: SessionCommands

    def judged(self, settings: Settings, *, trusted: bool) -> tuple[Pipeline, list[str]]:
        """The permissions of the workspace as it is now, and what has no effect in the settings."""
        return pipeline_from(
            settings.permissions,
            folders=(*self.workspace.folders, str(self.commands.output)),
            tools=(*TOOL_NAMES, *OPTIONAL_TOOL_NAMES, *(tool.spec.name for tool in self.extra.tools)),
            trusted=trusted,
            cwd=self.workspace.cwd,
        )

    def prompt(self) -> PromptMaker:
        environment = Environment(self.workspace.places, date.today())
        return PromptMaker(environment, schemas=self.options.settings.tools_schemas_in_prompt)


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
    ground = _ground(options, queue, open_files, extras)
    before = kept.restored if kept is not None else Restored()
    todos = TodoList(before.todos)
    permissions, complaints = ground.judged(options.settings, trusted=options.trusted)
    permissions.mode = options.mode
    means = _means(ground, todos, permissions, lambda: provider.limits(agent.state.model).images)

    def tools(settings: Settings) -> ToolRegistry:
        return ToolRegistry([*own_tools(means, settings), *ground.extra.tools])

    parts = _parts(ground, provider, permissions, approver, todos)
    agent = _agent(parts, tools(options.settings), ground, before.messages)
    keeping = Keeping(agent, kept, mode=options.mode) if kept is not None else None
    folders = _folders(ground, permissions, agent)

    def use_mode(mode: ApprovalMode) -> None:
        permissions.mode = mode

    def use_settings(settings: Settings) -> None:
        folders.judge_by(lambda trusted: ground.judged(settings, trusted=trusted)[0])
        agent.set_tools(tools(settings))

    session = AgentSession(
        options.session_id,
        agent,
        cwd=ground.workspace.cwd,
        mode=options.mode,
        release=partial(_release, ground, keeping),
        undo=partial(rewind, ground.files, ground.journal),
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


def _ground(
    options: SessionOptions,
    queue: WriteQueue,
    open_files: Callable[[Workspace], OpenFiles] | None,
    extras: Callable[[Workspace], Extras] | None,
) -> _Ground:
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
    commands = SessionCommands(workspace.cwd, child_environment(options.environment))
    return _Ground(options, workspace, extra, held, encodings, journal, recorder, files, commands)


def _means(
    ground: _Ground, todos: TodoList, permissions: Pipeline, images: Callable[[], ImageLimits]
) -> Means:
    return Means(
        ground.workspace,
        ground.files,
        ground.held,
        ground.commands,
        ground.extra.before_command,
        todos,
        permissions,
        images,
    )


def _parts(
    ground: _Ground,
    provider: ModelProvider,
    permissions: Pipeline,
    approver: Approver | None,
    todos: TodoList,
) -> AgentParts:
    settings = ground.options.settings
    return AgentParts(
        provider,
        session_id=ground.options.session_id,
        permissions=permissions,
        approver=approver,
        files=ground.files,
        compactor=DropOldestTurns(SystemClock(), partial(random_id, "msg"), todos),
        retry=settings.for_retries(),
        todos=todos,
        news=_AllNews(ground.commands.background, ground.extra.news),
        hooks=ground.extra.hooks,
        settings=settings.for_runs(),
    )


def _agent(parts: AgentParts, tools: ToolRegistry, ground: _Ground, messages: Sequence[Message]) -> Agent:
    options, settings = ground.options, ground.options.settings
    agent = Agent(
        parts,
        model=options.model,
        tools=tools,
        system_prompt=ground.prompt(),
        thinking=options.thinking or settings.thinking,
        messages=messages,
    )
    agent.set_queue_mode("steering", settings.queue_steering)
    agent.set_queue_mode("followUp", settings.queue_follow_up)
    ground.recorder.run_id = lambda: agent.run_id
    ground.recorder.complain = lambda text: agent.notify(Notice("warning", text, "undo"))
    return agent


def _folders(ground: _Ground, permissions: Pipeline, agent: Agent) -> OpenFolders:
    options = ground.options
    return OpenFolders(
        ground.workspace,
        permissions,
        ground.encodings,
        agent,
        judging=lambda trusted: ground.judged(options.settings, trusted=trusted)[0],
        prompt=ground.prompt,
        trusted=options.trusted,
    )


async def _release(ground: _Ground, keeping: Keeping | None) -> None:
    if ground.extra.close is not None:
        ground.extra.close()
    if keeping is not None and not await keeping.close(_LAST_LINES):
        logger.warning("The end of session %s could not be saved", ground.options.session_id)
    await ground.commands.close()
