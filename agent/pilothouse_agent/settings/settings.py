"""Settings: one value for each key, with defaults; bad input is reported and never stops anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.request import ThinkingLevel
from pilothouse_agent.kernel.retry import BackOff
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.layers import Layer, PermissionSource
from pilothouse_agent.settings.keys import KEYS, flattened, read_value, unknown_key
from pilothouse_agent.settings.provider_entries import with_entries, without_keys

__all__ = ["Dialog", "Settings", "merged"]

QueueMode = Literal["one", "all"]
ClosedFiles = Literal["auto", "editor", "disk"]
Dialog = Literal["auto", "never", "quiet"]

_WITHOUT_EFFECT = {"hooks": "this version runs none, so it has no effect."}
"""Settings that are known and do nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds."""

    model: str | None = None
    """`provider/model`; None: nobody has chosen one."""
    thinking: ThinkingLevel = "off"
    mode: ApprovalMode = ApprovalMode.ASK
    run_max_turns: int = 100
    """Model requests in a run, retries not counted."""
    run_guard_blocks: int = 3
    """How often a run is held back from ending with unfinished todos."""
    run_resumes: int = 3
    """How often a run goes on after a broken stream."""
    retry_attempts: int = 3
    """Retries after the first request."""
    retry_base_delay: float = 2
    """Before the first retry; doubles with each."""
    retry_max_delay: float = 60
    retry_max_retry_after: float = 300
    """The longest wait a provider may ask for; above it the run fails at once."""
    model_connect_timeout: float = 15
    model_idle_timeout: float = 120
    """The longest silence within an answer."""
    tools_parallel: int = 8
    """Tool bodies running at once."""
    tools_grace: float = 5
    """For a tool to end after its cancellation."""
    tools_write_limit: float = 30
    """For a write in flight to end after the abort."""
    tools_bash_timeout: float = 120
    tools_output_lines: int = 2000
    """Of a tool's output that the model gets to see."""
    tools_output_bytes: int = 51200
    tools_schemas_in_prompt: bool = False
    """Whether the system prompt tells what each tool takes, though each request does so already."""
    events_listener_limit: float = 30
    """For an event listener; a slower one is dropped."""
    queue_steering: QueueMode = "one"
    """How many waiting messages are delivered at once."""
    queue_follow_up: QueueMode = "one"
    edits_closed_files: ClosedFiles = "auto"
    """Where files that are not open in the editor are written."""
    files_encodings: JsonObject | None = None
    """Of files that are not UTF-8, by globs as in .editorconfig; the last that fits counts."""
    approvals_dialog: Dialog = "auto"
    """Whether editors without a way of their own are asked by messages too, when nobody types: `auto` where
    keys that are meant for a text cannot answer them."""
    trust_folders: tuple[str, ...] = ()
    """What is in them, and below, is as good as the user's own word. Absolute."""
    providers: JsonObject | None = None
    permissions: tuple[PermissionSource, ...] = ()
    """One of each layer that has any, since a deny of every layer holds."""
    hooks: JsonObject | None = None

    def with_values(
        self, values: Mapping[str, JsonValue], *, layer: Layer = Layer.USER, trusted: bool = True
    ) -> tuple[Settings, list[str]]:
        """These settings changed by the values of a nearer layer, and a sentence for each value not taken.

        Keys may be dotted or nested; null counts as absent. What is not taken leaves the old value in
        place. In a workspace that is not `trusted`, layers that come from it may not loosen the mode,
        name providers or hooks; what their permissions allow is left out later. No such layer may say
        what is trusted.
        """
        changes: dict[str, Any] = {}
        problems: list[str] = []
        guarded = layer.comes_from_workspace and not trusted
        for name, value in flattened(values):
            key = KEYS.get(name)
            if key is None:
                problems.append(unknown_key(name))
                continue
            try:
                taken = read_value(key, value)
                if name == "providers":
                    taken, refused = without_keys(taken, layer)
                    problems += refused
                changes[key.field] = self._taken(key.field, taken, layer, guarded=guarded)
                if name in _WITHOUT_EFFECT:
                    problems.append(f"{name}: {_WITHOUT_EFFECT[name]}")
            except ValueError as error:
                problems.append(f"{name}: {error} {self._kept(key.field)}")
        return replace(self, **changes), problems

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

    def _taken(self, field: str, value: Any, layer: Layer, *, guarded: bool) -> Any:
        """The new value of a field. Raises `ValueError` when the layer may not set it."""
        if field == "trust_folders" and layer.comes_from_workspace:
            raise ValueError(
                f"the {layer} settings may never set this; it may stand in your own config.toml, in the "
                "environment or on the command line."
            )
        if guarded and (
            field in ("providers", "hooks")
            or (field == "mode" and cast("ApprovalMode", value).is_looser_than(self.mode))
        ):
            raise ValueError(f"the {layer} settings may not set this in a workspace that is not trusted.")
        if field == "permissions":
            return (*self._permissions_without(layer), PermissionSource(layer, value))
        if field == "providers":
            return with_entries(self.providers or {}, value)
        return value

    def _permissions_without(self, layer: Layer) -> list[PermissionSource]:
        return [source for source in self.permissions if source.layer is not layer]

    def _kept(self, field: str) -> str:
        value = getattr(self, field)
        if field in ("providers", "permissions", "hooks", "trust_folders", "files_encodings"):
            return "It is ignored."
        return f"It stays {'unset' if value is None else value}."


def merged(layers: Mapping[Layer, Mapping[str, JsonValue]], *, trusted: bool) -> tuple[Settings, list[str]]:
    """The settings of all layers, nearer ones over farther ones, and a sentence for each value not taken.

    The command line wins over the editor, that over the environment, that over the project's file,
    that over the user's.
    """
    settings, problems = Settings(), list[str]()
    for layer in sorted(layers):
        settings, found = settings.with_values(layers[layer], layer=layer, trusted=trusted)
        problems += [f"In the {layer} settings, {problem}" for problem in found]
    return settings, problems
