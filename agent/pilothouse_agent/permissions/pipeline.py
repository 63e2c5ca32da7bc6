"""The permission pipeline: one verdict for each call, from its footprint, its command and the rules."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pilothouse_agent.kernel.events import Option
from pilothouse_agent.kernel.questions import PermissionRequest, Verdict
from pilothouse_agent.kernel.tooling import Risk
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.finding import ALLOWED, Finding, visible
from pilothouse_agent.permissions.path_judge import PathJudge
from pilothouse_agent.permissions.rules import Rules

if TYPE_CHECKING:
    from pilothouse_agent.permissions.command_judge import CommandJudge

__all__ = ["Pipeline"]

_MOST_REASONS = 5
_KINDS_THAT_CHANGE = ("edit", "delete", "move")
_KINDS_WITHOUT_QUESTION = ("read", "search", "think")
_ALLOW, _ALLOW_FILE, _ALLOW_SESSION, _REJECT = "allow", "allowFile", "allowSession", "reject"
_EDITS = ("edits",)
"""What an `allowSession` answer to an edit allows: every edit that the mode `edits` allows."""

_READ_ONLY_REFUSAL = (
    "Refused: this session is in read-only mode, in which files are not changed and only commands known "
    "to be read-only may run. Look at files and report instead; the user can change the mode."
)


class Pipeline:
    """Implements the kernel's `PermissionPipeline`; one for each session.

    Nothing here looks at the disk: the paths of footprints are real already, those in commands are
    taken as written. `folders` are the real paths of the workspace, the working folder first. With
    `read_only_commands` commands known to change nothing run without a question as long as they name
    no path outside; a link in the workspace may still lead them out of it.
    """

    def __init__(
        self,
        folders: Sequence[str],
        *,
        rules: Rules | None = None,
        mode: ApprovalMode = ApprovalMode.ASK,
        read_only_commands: bool = False,
        home: str | None = None,
        cwd: str | None = None,
    ) -> None:
        """`cwd`: the working folder, by default the first of `folders`."""
        self.mode = mode
        rules = rules or Rules()
        self._rules = rules
        self._paths = PathJudge(rules, folders=folders, home=home or os.path.expanduser("~"), cwd=cwd)
        self._read_only_commands = read_only_commands
        self._remembered: dict[Hashable, str] = {}

    @property
    def remembered(self) -> tuple[str, ...]:
        """What `allowFile` and `allowSession` answers have allowed so far, in the words of their offer."""
        return tuple(self._remembered.values())

    @property
    def protected_globs(self) -> tuple[str, ...]:
        """The files that `protects` names, for searches that filter by globs below a workspace folder."""
        return self._paths.protected_globs()

    def follow(self, other: Pipeline) -> None:
        """Judge as `other` does from now on; the mode, and what was allowed so far, stay."""
        self._rules, self._paths = other._rules, other._paths
        self._read_only_commands = other._read_only_commands
        self.__dict__.pop("_commands", None)

    def protects(self, path: str) -> bool:
        """Whether searches have to leave out what this file (real path) holds.

        A file that a call names itself is judged by `judge` instead.
        """
        return self._paths.protects(path)

    def judge(self, request: PermissionRequest) -> Verdict:
        findings = list(self._findings(request))
        risk = _risk(request, grave=any(finding.grave for finding in findings))
        denied = [finding for finding in findings if finding.effect == "deny"]
        if denied:
            return Verdict("deny", _refusal(denied), risk)
        if self.mode is ApprovalMode.READ_ONLY and _may_change(request):
            return Verdict("deny", _READ_ONLY_REFUSAL, risk)
        asking = [finding for finding in findings if finding.effect == "ask"]
        if self._settled_beforehand(request, asking):
            return Verdict("allow", risk=risk)
        if self.mode is ApprovalMode.NONE:
            return Verdict("deny", _unasked(asking), risk)
        return Verdict("ask", _question(asking), risk, self._options(request, asking))

    def settle(self, request: PermissionRequest, option_id: str) -> bool:
        """Only an answer that was offered, and only while nothing has come to forbid the call."""
        asking = [finding for finding in self._findings(request) if finding.effect == "ask"]
        offered = {option.id: option for option in self._options(request, asking)}
        if option_id not in offered or option_id == _REJECT or self.judge(request).decision == "deny":
            return False
        if scope := offered[option_id].scope:
            wide = option_id == _ALLOW_SESSION and _edited_file(request) is not None
            self._remembered[_EDITS if wide else _key(request)] = scope
        return True

    def _findings(self, request: PermissionRequest) -> Iterator[Finding]:
        footprint, tool = request.footprint, request.call.name
        if request.command is not None:
            yield from self._commands.judge(tool, request.command)
        for touch in footprint.reads:
            yield self._paths.judge(tool, touch.path, "read")
        for touch in footprint.writes:
            yield self._paths.judge(tool, touch.path, "write")
        if request.command is None and not (footprint.reads or footprint.writes):
            yield self._judge_tool(request)

    @cached_property
    def _commands(self) -> CommandJudge:
        # Loaded at the first command: reading shell syntax takes a lot of preparation.
        from pilothouse_agent.permissions.command_judge import CommandJudge

        return CommandJudge(self._rules, self._paths, read_only_commands=self._read_only_commands)

    def _judge_tool(self, request: PermissionRequest) -> Finding:
        ruling = self._rules.for_tool(request.call.name)
        if ruling:
            return Finding.of(ruling)
        if request.kind in _KINDS_WITHOUT_QUESTION and request.footprint.extent != "touchesEverything":
            return ALLOWED
        return Finding("ask", f"no rule allows `{request.call.name}`")

    def _settled_beforehand(self, request: PermissionRequest, asking: Sequence[Finding]) -> bool:
        if not asking or self.mode is ApprovalMode.ALL or _key(request) in self._remembered:
            return True
        edits = self.mode is ApprovalMode.EDITS
        edits = edits or (_EDITS in self._remembered and _edited_file(request) is not None)
        return edits and all(finding.plain_change for finding in asking)

    def _options(self, request: PermissionRequest, asking: Sequence[Finding]) -> tuple[Option, ...]:
        return (
            Option(_ALLOW, "Allow", "allowOnce"),
            *self._lasting_options(request, asking),
            Option(_REJECT, "Reject", "rejectOnce"),
        )

    def _lasting_options(self, request: PermissionRequest, asking: Sequence[Finding]) -> Iterator[Option]:
        if _edited_file(request) is None:
            yield Option(_ALLOW_SESSION, "Allow for this session", "allowAlways", self._scope(request))
            return
        yield Option(_ALLOW_FILE, "Allow for this file", "allowAlways", self._scope(request))
        if all(finding.plain_change for finding in asking):
            scope = "any edit of files in the workspace"
            yield Option(_ALLOW_SESSION, "Allow for this session", "allowAlways", scope)

    def _scope(self, request: PermissionRequest) -> str:
        """What `_key` covers, in words."""
        if request.command is not None:
            return f"exactly this command: {visible(request.command)}"
        written = [self._paths.display(touch.path) for touch in request.footprint.writes]
        read = [self._paths.display(touch.path) for touch in request.footprint.reads]
        file = _edited_file(request)
        if file is not None:
            return f"any edit of {visible(self._paths.display(file))}"
        if written or read:
            touched = ", ".join(dict.fromkeys(written + read))
            return f"{request.call.name} with exactly these paths: {visible(touched)}"
        return f"{request.call.name} with exactly these arguments: {visible(_arguments(request))}"


def _risk(request: PermissionRequest, *, grave: bool) -> Risk:
    """`grave`: a file outside the workspace or a protected one is touched."""
    if grave or request.kind == "delete":
        return "high"
    if request.command is not None:
        from pilothouse_agent.permissions.risk import command_risk

        return command_risk(request.command)
    return "low" if request.kind in _KINDS_WITHOUT_QUESTION else "medium"


def _may_change(request: PermissionRequest) -> bool:
    if request.command is not None:
        from pilothouse_agent.permissions.read_only import is_read_only

        return not is_read_only(request.command) or bool(request.footprint.writes)
    footprint = request.footprint
    return (
        request.kind in (*_KINDS_THAT_CHANGE, "execute")
        or bool(footprint.writes)
        or footprint.extent == "touchesEverything"
    )


def _edited_file(request: PermissionRequest) -> str | None:
    """The one file that an edit changes; folders made on the way to it do not count."""
    footprint = request.footprint
    if request.kind != "edit" or footprint.extent != "named" or not footprint.writes:
        return None
    file = max((touch.path for touch in footprint.writes), key=len)
    touched = (*footprint.reads, *footprint.writes)
    on_the_way = all(f"{file}/".startswith(f"{touch.path}/") and not touch.subtree for touch in touched)
    return file if on_the_way else None


def _key(request: PermissionRequest) -> Hashable:
    """Equal for the calls that one `allowFile`, or one `allowSession` that is not about edits, covers."""
    if request.command is not None:
        return ("command", request.call.name, request.command)
    footprint = request.footprint
    file = _edited_file(request)
    if file is not None:
        return ("edit", file)
    if footprint.reads or footprint.writes:
        return ("paths", request.call.name, footprint)
    return ("call", request.call.name, _arguments(request))


def _arguments(request: PermissionRequest) -> str:
    return json.dumps(request.call.arguments, sort_keys=True, ensure_ascii=False)


def _reasons(findings: Sequence[Finding]) -> str:
    reasons = list(dict.fromkeys(finding.reason for finding in findings))
    more = ["and more"] if len(reasons) > _MOST_REASONS else []
    return "; ".join(reasons[:_MOST_REASONS] + more)


def _question(findings: Sequence[Finding]) -> str:
    text = _reasons(findings)
    return f"{text[0].upper()}{text[1:]}."


def _refusal(findings: Sequence[Finding]) -> str:
    return (
        f"Denied: {_reasons(findings)}. Do not try the same in another form; go on without it, "
        "or tell the user what would be needed."
    )


def _unasked(findings: Sequence[Finding]) -> str:
    return (
        f"Not allowed: {_reasons(findings)}. In this session nobody is asked, so the answer is no. "
        "Go on without it, or tell the user what would have to be allowed."
    )
