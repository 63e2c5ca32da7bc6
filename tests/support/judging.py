"""Permission requests in one call each, and a pipeline over a workspace that need not exist."""

from __future__ import annotations

from collections.abc import Mapping

from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.questions import PermissionRequest
from pilothouse_agent.kernel.tooling import Footprint, Touch
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.layers import Layer, PermissionSource
from pilothouse_agent.permissions.permission_config import pipeline_from
from pilothouse_agent.permissions.pipeline import Pipeline

__all__ = ["HOME", "TOOLS", "WORKSPACE", "command", "pipeline", "request", "touching", "verdict"]

WORKSPACE = "/home/me/project"
HOME = "/home/someone"
TOOLS = ("bash", "edit_file", "grep", "read_file", "web_fetch", "write_file")


def request(
    tool: str, kind: ToolKind, footprint: Footprint | None = None, arguments: JsonObject | None = None
) -> PermissionRequest:
    return PermissionRequest(ToolCall("c1", tool, arguments or {}), kind, footprint or Footprint(), None)


def touching(tool: str, kind: ToolKind, *, reads: str = "", writes: str = "") -> PermissionRequest:
    """Paths divided by blanks, absolute or from the workspace on."""
    return request(tool, kind, Footprint(reads=_touches(reads), writes=_touches(writes)))


def command(line: str) -> PermissionRequest:
    call = ToolCall("c1", "bash", {"command": line})
    return PermissionRequest(call, "execute", Footprint(extent="touchesEverything"), line)


def pipeline(
    config: Mapping[str, JsonValue] | None = None, *, mode: ApprovalMode = ApprovalMode.ASK
) -> Pipeline:
    """One with these permissions in the user's settings; the test fails when any has no effect."""
    sources = [PermissionSource(Layer.USER, dict(config or {}))]
    made, warnings = pipeline_from(
        sources, folders=[WORKSPACE], tools=TOOLS, trusted=False, mode=mode, home=HOME
    )
    assert warnings == []
    return made


def verdict(pipeline: Pipeline, *lines: str) -> dict[str, str]:
    """The decision about each of these commands."""
    return {line: pipeline.judge(command(line)).decision for line in lines}


def _touches(paths: str) -> tuple[Touch, ...]:
    absolute = (path if path.startswith("/") else f"{WORKSPACE}/{path}" for path in paths.split())
    return tuple(Touch(path) for path in absolute)
