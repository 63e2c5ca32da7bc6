"""The settings: what may be set, what each may hold, and what counts where nobody has said anything."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BeforeValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from pilothouse_agent.files.declared import declared
from pilothouse_agent.kernel.request import ThinkingLevel
from pilothouse_agent.kernel.retry import BackOff
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.models.choosing.provider_entry import ProviderEntry
from pilothouse_agent.models.setting_types import Count, Expected, Flag, Natural, ObjectOf, Seconds
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.layers import PermissionEntries, PermissionSource

__all__ = ["ClosedFiles", "Dialog", "Settings"]

QueueMode = Literal["one", "all"]
ClosedFiles = Literal["auto", "editor", "disk"]
Dialog = Literal["auto", "never", "quiet"]

JsonObject: TypeAlias = dict[str, JsonValue]

_LONGEST_SHOWN = 40


def _encodings(value: Any) -> Any:
    for glob, name in cast("JsonObject", value).items() if isinstance(value, dict) else ():
        if not isinstance(name, str) or declared(name, "") is None:
            wanted = f"the name of an encoding such as cp1252 for {glob[:_LONGEST_SHOWN]!r}"
            raise PydanticCustomError("expected", "{wanted}", {"wanted": wanted})
    return cast("Any", value)


def _absolute(value: Any) -> Any:
    if not isinstance(value, str) or not os.path.isabs(value):
        raise ValueError
    return value


Model = Annotated[str, Field(pattern=r"^[^/]+/[\s\S]"), Expected("a model as provider/model")]
Encodings = Annotated[dict[str, str], BeforeValidator(_encodings)]
Folders = Annotated[
    tuple[Annotated[str, BeforeValidator(_absolute)], ...], Expected("a list of absolute paths of folders")
]


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds."""

    model: Model | None = None
    """`provider/model`; None: nobody has chosen one."""
    thinking: ThinkingLevel = "off"
    """How long the model is asked to think."""
    mode: ApprovalMode = ApprovalMode.ASK
    """How much runs without a question."""
    run_max_turns: Count = 100
    """Model requests in a run, retries not counted."""
    run_guard_blocks: Natural = 3
    """How often a run is held back from ending with unfinished todos."""
    run_resumes: Natural = 3
    """How often a run goes on after a broken stream."""
    retry_attempts: Natural = 3
    """Retries after the first request."""
    retry_base_delay: Seconds = 2
    """Before the first retry; doubles with each."""
    retry_max_delay: Seconds = 60
    """The longest time between two of them."""
    retry_max_retry_after: Seconds = 300
    """The longest wait a provider may ask for; above it the run fails at once."""
    model_connect_timeout: Seconds = 15
    model_idle_timeout: Seconds = 120
    """The longest silence within an answer."""
    tools_parallel: Count = 8
    """Tool bodies running at once."""
    tools_grace: Seconds = 5
    """For a tool to end after its cancellation."""
    tools_write_limit: Seconds = 30
    """For a write in flight to end after the abort."""
    tools_bash_timeout: Seconds = 120
    """For a command whose call names no other."""
    tools_output_lines: Count = 2000
    """Of a tool's output that the model gets to see."""
    tools_output_bytes: Count = 51200
    tools_schemas_in_prompt: Flag = False
    """Whether the system prompt tells what each tool takes, though each request does so already."""
    events_listener_limit: Seconds = 30
    """For an event listener; a slower one is dropped."""
    queue_steering: QueueMode = "one"
    """How many waiting messages are delivered at once."""
    queue_follow_up: QueueMode = "one"
    edits_closed_files: ClosedFiles = "auto"
    """Where files that are not open in the editor are written."""
    files_encodings: Encodings | None = None
    """Of files that are not UTF-8, by globs as in .editorconfig; the last that fits counts."""
    approvals_dialog: Dialog = "auto"
    """Whether editors without a way of their own are asked by messages too, when nobody types: `auto` where
    keys that are meant for a text cannot answer them."""
    trust_folders: Folders = ()
    """What is in them, and below, is as good as the user's own word. Absolute."""
    providers: Annotated[JsonObject | None, ObjectOf(dict[str, ProviderEntry])] = None
    """By name."""
    permissions: Annotated[tuple[PermissionSource, ...], ObjectOf(PermissionEntries)] = ()
    """One of each layer that has any, since a deny of every layer holds."""
    hooks: Annotated[JsonObject | None, ObjectOf(dict[str, Any])] = None
    """Known, and without effect."""

    def for_runs(self) -> RunSettings:
        """What the kernel keeps to."""
        return RunSettings(
            max_turns=self.run_max_turns,
            guard_blocks=self.run_guard_blocks,
            resumes=self.run_resumes,
            parallel=self.tools_parallel,
            grace=self.tools_grace,
            write_limit=self.tools_write_limit,
            listener_limit=self.events_listener_limit,
            output_lines=self.tools_output_lines,
            output_bytes=self.tools_output_bytes,
        )

    def for_retries(self) -> BackOff:
        return BackOff(
            self.retry_attempts, self.retry_base_delay, self.retry_max_delay, self.retry_max_retry_after
        )
