"""Every method with its models: what the schema, the protocol page and their tests are made from."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_server import method_names as names
from pilothouse_server import protocol as p

__all__ = ["METHODS", "Method"]


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    to: str
    """Who receives it: server or client."""
    about: str
    params: type[p.Wire]
    results: tuple[type[p.Wire], ...]
    """More than one where the params decide."""
    errors: tuple[p.ErrorKindCode, ...] = ()


METHODS: tuple[Method, ...] = (
    Method(
        names.SESSION_NEW,
        "server",
        "Open a session. It lives until the server ends.",
        p.NewParams,
        (p.NewResult,),
        (p.UNKNOWN_MODEL,),
    ),
    Method(
        names.PROMPT,
        "server",
        "Give the agent a prompt. Answered when the run has settled, after all its events, or at admission "
        "with `wait: accepted`. `$/cancelRequest` aborts the run; the answer is then a normal result.",
        p.PromptParams,
        (p.SettledResult, p.AcceptedResult),
        (p.BUSY, p.UNKNOWN_SESSION, p.UNKNOWN_MODEL),
    ),
    Method(
        names.STEER,
        "server",
        "Say something to the run under way, delivered at its next turn; starts a run when there is none.",
        p.MessageParams,
        (p.DeliveryResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.FOLLOW_UP,
        "server",
        "Say something for when the model would stop; starts a run when there is none.",
        p.MessageParams,
        (p.DeliveryResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.ABORT,
        "server",
        "End the run. Answered when it has settled, after its last event.",
        p.AbortParams,
        (p.AbortResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.UNQUEUE,
        "server",
        "Take queued messages back, by id.",
        p.UnqueueParams,
        (p.UnqueueResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.STATE,
        "server",
        "How the sessions stand.",
        p.StateParams,
        (p.StateResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.ANSWER,
        "server",
        "Answer an open approval, from wherever. The first answer wins.",
        p.AnswerParams,
        (p.EmptyResult,),
        (p.ALREADY_RESOLVED,),
    ),
    Method(
        names.EVENTS,
        "server",
        "Events that have left already, for a client that lost its view; a snapshot when the epoch is not "
        "this server's or the events are not kept any more.",
        p.EventsParams,
        (p.EventsResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.REQUEST_APPROVAL,
        "client",
        "Ask the user. Waits as long as the user does; null, an error or an unknown option mean no. "
        "Withdrawn with `$/cancelRequest`. Sent to clients that declared `approvals`.",
        p.ApprovalParams,
        (p.ApprovalResult,),
    ),
)
