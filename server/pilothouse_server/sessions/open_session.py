"""A session that is open in this server, with what belongs to it here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.models.choosing.registry import ModelRegistry
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_server.documents.workspace_folders import FoldersChange
from pilothouse_server.edits.closed_files import NOT_DECLARED
from pilothouse_server.sessions.event_stream import EventStream
from pilothouse_server.sessions.progress import RunProgress

__all__ = ["OpenSession"]


@dataclass(slots=True)
class OpenSession:
    session: AgentSession
    models: ModelRegistry
    """With the keys this session may use."""
    stream: EventStream
    progress: RunProgress
    places: tuple[str, ...]
    """The folders it works in, as they were given."""
    in_window: bool = False
    """It works in one of the window's folders, and follows those."""
    told_of_route: bool = False
    shows_progress: bool = False
    """It listens although the client shows none on tokens of ours."""

    def complain(self, complaints: Sequence[str]) -> None:
        """Of settings."""
        for complaint in complaints:
            self.session.agent.notify(Notice("warning", complaint, "settings"))

    def tell_route(self) -> None:
        """Once, that the setting asks for what this client cannot do."""
        if not self.told_of_route:
            self.told_of_route = True
            self.complain([NOT_DECLARED])

    def show_progress(self, run_id: str, token: int | str) -> None:
        """On a token of the client's, for a run that has been admitted just now."""
        if not (self.progress.creates or self.shows_progress):
            self.shows_progress = True
            self.session.agent.subscribe(self.progress)
        self.progress.expect(run_id, token)

    def follow(self, change: FoldersChange, *, window: Sequence[str], trusts: Sequence[str]) -> None:
        """A session that works in one of the window's folders has those that come and go too."""
        known = {*window, *change.removed}
        self.in_window = self.in_window or self.places[0] in known
        left = tuple(place for place in self.places if place not in change.removed)
        places = tuple(dict.fromkeys((*left, *change.added)))
        folders = self.session.folders
        if not self.in_window or folders is None or places == self.places:
            return
        self.places = places
        folders.follow(places, trusts=trusts)
