"""The first phase of a call: arguments, before hook, permission (T1). Nothing of it runs the body."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from pilothouse_agent.kernel.abort import Aborted, bounded
from pilothouse_agent.kernel.consent import ShownChanges
from pilothouse_agent.kernel.context import RunContext
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.foreign import contained, described, guarded, in_thread
from pilothouse_agent.kernel.hook_runner import HookFailed
from pilothouse_agent.kernel.hooks import BlockCall
from pilothouse_agent.kernel.json_types import JsonObject, copy_object
from pilothouse_agent.kernel.messages import ToolCall, text_of
from pilothouse_agent.kernel.ports import Consent, Invocation, PermissionPipeline, PlannedFiles, Tool
from pilothouse_agent.kernel.questions import PermissionRequest, Question, Verdict
from pilothouse_agent.kernel.results import CallEnd, aborted, blocked, denied, failed, refused
from pilothouse_agent.kernel.tooling import Denied, Footprint, InvalidArguments, Preview, ToolError

__all__ = ["Bound", "Preparer"]

logger = logging.getLogger(__name__)

_SHOWN_ARGUMENTS = 2000
_SHOWN_VIOLATIONS = 10


@dataclass(frozen=True, slots=True)
class Bound:
    """A call whose arguments are valid."""

    call: ToolCall
    invocation: Invocation
    kind: ToolKind
    title: str
    footprint: Footprint
    """Asked for once, so that what is judged is what is scheduled."""
    locations: tuple[Location, ...]
    command: str | None
    consent: Consent | None = None
    """What its change is bound to, when the user was asked about it (P3)."""


class Preparer:
    """Prepares the calls of one batch, one after another."""

    def __init__(self, context: RunContext, tools: Sequence[Tool]) -> None:
        self._context = context
        self._tools = {tool.spec.name: tool for tool in tools}
        self._signal = context.signal
        self._permissions = context.parts.permissions
        self._limit = context.parts.settings.hook_limit
        self._approved: list[Bound] = []

    async def bind(self, call: ToolCall) -> Bound | CallEnd:
        """Parse and validate; the end is an error that lists what is wrong (T5).

        In a thread, because tools look at the disk to know which file a path means, and read commands.
        """
        if self._signal.aborted:
            return aborted()
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            return failed(f"There is no tool named {call.name!r}. The tools are: {known}.")
        if call.arguments is None:
            shown = (call.arguments_text or "")[:_SHOWN_ARGUMENTS]
            return failed(f"The arguments are not a JSON object, so {call.name} did not run: {shown}")
        try:
            work = in_thread(_bound, call, tool, copy_object(call.arguments))
            return await bounded(work, signal=self._signal, limit=self._limit)
        except Aborted:
            return aborted()
        except InvalidArguments as error:
            listed = _listed(error)
            return failed(f"The arguments do not fit {call.name}, which did not run:\n{listed}")
        except ToolError as error:
            return failed(str(error))
        except TimeoutError as error:
            said = str(error) or f"it took longer than {self._limit:g} s"
            return failed(f"The tool {call.name} failed at its arguments: {said}. Try again.")
        except Exception as error:
            logger.exception("The tool %s raised at its arguments", call.name)
            return failed(f"The tool {call.name} failed at its arguments: {described(error)}")

    async def admit(self, bound: Bound) -> Bound | CallEnd:
        """The before hook, validation of what it changed, permission; the end says why it may not run."""
        try:
            hooked = await self._hooked(bound)
            if isinstance(hooked, CallEnd):
                return hooked
            permitted = await self._permit(hooked)
        except Aborted:
            return aborted()
        except Exception as error:
            logger.exception("The call %s could not be prepared", bound.call.id)
            return failed(f"The call could not be judged and did not run: {described(error)}")
        if isinstance(permitted, Bound):
            self._approved.append(permitted)
        return permitted

    async def _hooked(self, bound: Bound) -> Bound | CallEnd:
        try:
            decision = await self._context.hooks.before(bound.call)
        except HookFailed as error:
            return failed(str(error))
        self._signal.raise_if_aborted()
        if isinstance(decision, BlockCall):
            return blocked(decision.reason)
        if decision is None:
            return bound
        return await self.bind(replace(bound.call, arguments=decision.arguments, arguments_text=None))

    async def _permit(self, bound: Bound) -> Bound | CallEnd:
        if self._permissions is None:
            return bound
        request = PermissionRequest(bound.call, bound.kind, bound.footprint, bound.command)
        verdict = await self._judge(self._permissions, request)
        if verdict.decision == "allow":
            return bound
        if verdict.decision == "deny":
            return refused(verdict.reason)
        return await self._ask_first(bound, request, verdict)

    async def _judge(self, permissions: PermissionPipeline, request: PermissionRequest) -> Verdict:
        """In a thread where there is a command: one that is made for it takes long to read."""
        if request.command is None:
            return guarded(permissions.judge, request)
        work = in_thread(permissions.judge, request)
        return await bounded(work, signal=self._signal, limit=self._limit)

    async def _ask_first(self, bound: Bound, request: PermissionRequest, verdict: Verdict) -> Bound | CallEnd:
        try:
            preview = await self._preview(bound)
        except ToolError as error:
            return failed(str(error))
        if (no := await self._ask(bound, request, verdict, preview)) is not None:
            return no
        if not bound.footprint.writes:
            return bound
        consent = ShownChanges(preview, lambda shown: self._ask_again(bound, request, shown))
        return replace(bound, consent=consent)

    async def _ask_again(self, bound: Bound, request: PermissionRequest, preview: Preview) -> None:
        """About a change that is not the one that was shown; what may be done meanwhile is not asked."""
        assert self._permissions is not None
        verdict = await self._judge(self._permissions, request)
        if verdict.decision == "deny":
            raise Denied(verdict.reason)
        if verdict.decision == "allow":
            return
        no = await self._ask(bound, request, verdict, preview)
        if no is not None and no.outcome == "aborted":
            raise Aborted
        if no is not None:
            raise Denied(text_of(no.result.content))

    async def _ask(
        self, bound: Bound, request: PermissionRequest, verdict: Verdict, preview: Preview | None
    ) -> CallEnd | None:
        """Put the question; the end says why the call may not run."""
        permissions = self._permissions
        assert permissions is not None
        question = Question(
            self._context.parts.new_id("ask"),
            bound.call,
            bound.kind,
            bound.title,
            verdict.risk,
            verdict.options,
            preview,
            self._context.run_id,
        )
        resolution = await self._context.approvals.ask(
            question, self._signal, lambda option_id: permissions.settle(request, option_id)
        )
        if resolution.decision == "allowed":
            return None
        if resolution.decision == "cancelled":
            return aborted()
        if resolution.stop:
            self._context.abort()
        return denied(resolution.reason)

    async def _preview(self, bound: Bound) -> Preview | None:
        """Made from the files as the batch's earlier approved calls will leave them (P3).

        Planned anew for each question, because a call that is shown and then denied leaves nothing.
        """
        files = self._context.parts.files
        if files is None:
            return None
        planned = guarded(files.plan)
        for approved in self._approved:
            await self._note(approved, planned)
        return await self._bounded_preview(bound, planned)

    async def _note(self, approved: Bound, planned: PlannedFiles) -> None:
        if approved.footprint.extent == "touchesEverything":
            planned.mark_uncertain()
        elif approved.footprint.writes:
            try:
                await self._bounded_preview(approved, planned)
            except ToolError:
                planned.mark_uncertain()

    async def _bounded_preview(self, bound: Bound, planned: PlannedFiles) -> Preview | None:
        try:
            work = contained(bound.invocation.preview, planned)
            return await bounded(work, signal=self._signal, limit=self._limit)
        except TimeoutError:
            raise ToolError("Reading the file for the question took too long. Try again.") from None


def _bound(call: ToolCall, tool: Tool, arguments: JsonObject) -> Bound:
    """Raises what `Tool.bind` may, and TypeError for an invocation that is none."""
    invocation = tool.bind(arguments)
    title, footprint, command = invocation.title, invocation.footprint, invocation.command
    locations = tuple(invocation.locations)
    if not all(isinstance(place, Location) for place in cast("tuple[object, ...]", locations)):
        raise TypeError("the call's locations are none")
    if not isinstance(cast("object", title), str):
        raise TypeError(f"the call's title is {type(title).__name__}")
    if not isinstance(cast("object", footprint), Footprint):
        raise TypeError(f"the call's footprint is {type(footprint).__name__}")
    return Bound(call, invocation, tool.kind, title, footprint, locations, command)


def _listed(error: InvalidArguments) -> str:
    """The first violations, how many more there are, and what the tool adds to them."""
    violations = error.violations
    lines = [f"- {v.path or 'arguments'}: {v.message}" for v in violations[:_SHOWN_VIOLATIONS]]
    if len(violations) > _SHOWN_VIOLATIONS:
        lines.append(f"- and {len(violations) - _SHOWN_VIOLATIONS} more")
    return "\n".join([*lines, error.note] if error.note else lines)
