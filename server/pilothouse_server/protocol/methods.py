"""Every method with its models: what the schema, the protocol page and their tests are made from."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_server.protocol import approvals as a
from pilothouse_server.protocol import choosing as c
from pilothouse_server.protocol import editor as e
from pilothouse_server.protocol import kept as k
from pilothouse_server.protocol import models as p
from pilothouse_server.protocol import undo as u
from pilothouse_server.wire import method_names as names

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
        "Open a session. It lives until it is closed or the server ends.",
        p.NewParams,
        (p.NewResult,),
        (p.UNKNOWN_MODEL,),
    ),
    Method(
        names.SESSION_CLOSE,
        "server",
        "End a session: its run is aborted, what it started is ended, and it is forgotten. Answered when "
        "that has settled, after its last event.",
        p.CloseParams,
        (p.EmptyResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.SESSION_LIST,
        "server",
        "Which sessions there are, newest first, also of other processes and earlier ones.",
        k.ListParams,
        (k.ListResult,),
    ),
    Method(
        names.SESSION_LOAD,
        "server",
        "Go on with a session as its log has it: calls that never ended get a result that says so, and what "
        "waited in its queues is given back. One that is open here is answered as it stands.",
        k.LoadParams,
        (k.LoadResult,),
        (p.UNKNOWN_SESSION, p.SESSION_LOCKED),
    ),
    Method(
        names.SESSION_FORK,
        "server",
        "Make a new session with the conversation of another one, up to some message.",
        k.ForkParams,
        (k.ForkResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.SESSION_RENAME,
        "server",
        "Give a session another title.",
        k.RenameParams,
        (p.EmptyResult,),
        (p.UNKNOWN_SESSION, p.SESSION_LOCKED),
    ),
    Method(
        names.SESSION_DELETE,
        "server",
        "Delete a session's log and its journal of changes, after ending it where it is open here. One that "
        "is not there is deleted already.",
        k.DeleteParams,
        (p.EmptyResult,),
        (p.SESSION_LOCKED,),
    ),
    Method(
        names.SESSION_EXPORT,
        "server",
        "The conversation as a document that can be read without us.",
        k.ExportParams,
        (k.ExportResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.REWIND,
        "server",
        "Undo what a run did to files, by default the last run that changed any: only texts that are still "
        "as it left them, newest first, open documents through the editor. Where others have changed a file "
        "since, the text without the run's change is offered. Refused while a run is active. With "
        "`messageId` the conversation goes back to before a message, and files only where `files` says so.",
        u.RewindParams,
        (u.RewindResult,),
        (p.BUSY, p.UNKNOWN_SESSION),
    ),
    Method(
        names.PROMPT,
        "server",
        "Give the agent a prompt. Answered when the run has settled, after all its events, or at admission "
        "with `wait: accepted`. `$/cancelRequest` aborts the run; the answer is then a normal result.",
        p.PromptParams,
        (p.SettledResult, p.AcceptedResult),
        (p.BUSY, p.UNKNOWN_SESSION, p.UNKNOWN_MODEL, p.NO_CREDENTIALS),
    ),
    Method(
        names.STEER,
        "server",
        "Say something to the run under way, delivered at its next turn; starts a run when there is none.",
        p.MessageParams,
        (p.DeliveryResult,),
        (p.UNKNOWN_SESSION, p.UNKNOWN_MODEL, p.NO_CREDENTIALS),
    ),
    Method(
        names.FOLLOW_UP,
        "server",
        "Say something for when the model would stop; starts a run when there is none.",
        p.MessageParams,
        (p.DeliveryResult,),
        (p.UNKNOWN_SESSION, p.UNKNOWN_MODEL, p.NO_CREDENTIALS),
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
        names.MODELS,
        "server",
        "What can be chosen: the providers, and the models that are known of, with limits and prices. "
        "Keys are never shown, only where they come from.",
        c.ModelsParams,
        (c.ModelsResult,),
        (p.UNKNOWN_MODEL,),
    ),
    Method(
        names.SET_MODEL,
        "server",
        "Use another model, from the session's next request on.",
        c.SetModelParams,
        (p.EmptyResult,),
        (p.UNKNOWN_SESSION, p.UNKNOWN_MODEL, p.NO_CREDENTIALS),
    ),
    Method(
        names.SET_THINKING,
        "server",
        "Think more or less, from the session's next request on. Models that cannot think ignore it.",
        c.SetThinkingParams,
        (p.EmptyResult,),
        (p.UNKNOWN_SESSION,),
    ),
    Method(
        names.ANSWER,
        "server",
        "Answer an open approval, from wherever. The first answer wins.",
        a.AnswerParams,
        (p.EmptyResult,),
        (p.ALREADY_RESOLVED,),
    ),
    Method(
        names.PREVIEW,
        "server",
        "The whole command and diffs of an open approval, where its request has `cut`.",
        a.PreviewParams,
        (a.PreviewResult,),
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
        a.ApprovalParams,
        (a.ApprovalResult,),
    ),
    Method(
        names.ASK,
        "client",
        "Ask the user a question of the model. Waits as long as the user does; null or no answer means that "
        "the model goes on without. Withdrawn with `$/cancelRequest`. Sent to clients that declared "
        "`questions`; others get a message request when the question has options.",
        e.AskParams,
        (e.AskResult,),
    ),
    Method(
        names.SAVE,
        "client",
        "Save these documents, without asking anybody, before a shell command looks at the disk. One whose "
        "version is another is refused. Sent to clients that declared `save`.",
        e.SaveParams,
        (e.SaveResult,),
    ),
    Method(
        names.RELOAD,
        "client",
        "Take over what is on disk for these documents, those that have no unsaved text. Sent when a file "
        "has become another behind the editor, to clients that declared `reload`.",
        e.ReloadParams,
        (e.ReloadResult,),
    ),
    Method(
        names.DIAGNOSTICS,
        "client",
        "What is reported about a file, as LSP Diagnostic objects. Asked by the model, and before and after "
        "its edits, where an answer for the text as it is now is worth a moment of waiting (2 s at most). "
        "Sent to clients that declared `diagnostics`.",
        e.DiagnosticsParams,
        (e.DiagnosticsResult,),
    ),
)
