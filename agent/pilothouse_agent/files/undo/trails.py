"""The way each file went in a run, walked back from how it stands now. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.files.same_text import same_but_last_end
from pilothouse_agent.files.undo.journal import Entry
from pilothouse_agent.files.undo.merge import merge

__all__ = ["Changed", "Standing", "Trail", "trails"]


class Changed(Exception):
    """The file is not what the run left any more, and the two do not go together; says why."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A file at one moment."""

    exists: bool
    text: str | None = None
    """None also for what is not text."""
    remains: Remains | None = None
    """To be brought back."""
    merged: bool = False
    """The text is a run's change taken out of a text that others have changed too."""


@dataclass(slots=True)
class Trail:
    """One file through its names."""

    path: str
    """Where the run left it."""
    origin: str
    """Where it was before the run."""
    steps: list[Entry] = field(default_factory=list[Entry])
    """Newest first."""
    behind: Trail | None = None
    """The file that came to `path` after this one had gone from there."""
    ahead: Trail | None = None
    """The file that came to `origin` after this one had gone from there."""

    def back(self, now: Standing) -> Standing:
        """How it is to stand at `origin`. Raises `Changed`."""
        for step in self.steps:
            now = _BACK[step.change.kind](now, step)
        return now

    @property
    def before(self) -> Standing:
        """How it stood before the run."""
        first = self.steps[-1]
        if first.change.kind == "create":
            return Standing(exists=False)
        text = first.change.after if first.change.kind == "rename" else first.change.before
        return Standing(exists=True, text=text, remains=first.remains)


def trails(entries: Sequence[Entry]) -> list[Trail]:
    """`entries` oldest first; the file that was changed last comes first."""
    found: list[Trail] = []
    by_name: dict[str, Trail] = {}
    owners: dict[str, Trail] = {}
    for entry in reversed(entries):
        change = entry.change
        trail = by_name.pop(change.path, None)
        if trail is None:
            trail = Trail(change.path, change.path, behind=owners.get(change.path))
            found.append(trail)
        trail.steps.append(entry)
        trail.origin = change.source or change.path
        other = by_name.get(trail.origin)
        if other is not None and other is not trail:
            trail.ahead = other
        by_name[trail.origin] = owners[change.path] = owners[trail.origin] = trail
    return found


def _unmodified(now: Standing, step: Entry) -> Standing:
    before, after = step.change.before, step.change.after
    if not now.exists:
        raise Changed("it is gone")
    if now.text is None or before is None or after is None:
        raise Changed("it is not text any more")
    if now.text == after:
        return replace(now, text=before)
    if now.text == before:
        return now  # it was foretold and not made, or undone by others
    if same_but_last_end(now.text, after):
        # The editor ends the last line in its own way, as many do in saving.
        return replace(now, text=before.removesuffix("\n") + "\n" * now.text.endswith("\n"))
    merged = merge(after, now.text, before)
    if merged is None:
        raise Changed("the same lines have been changed since")
    return replace(now, text=merged, merged=True)


def _uncreated(now: Standing, step: Entry) -> Standing:
    after = step.change.after or ""
    if now.exists and (now.text is None or not same_but_last_end(now.text, after)):
        raise Changed("it was made by the run and has been changed since")
    return Standing(exists=False, merged=now.merged)


def _undeleted(now: Standing, step: Entry) -> Standing:
    if now.exists:
        raise Changed("there is a new file of this name")
    if step.remains is None:
        raise Changed("what was deleted was not kept")
    return Standing(exists=True, text=step.change.before, remains=step.remains, merged=now.merged)


def _unmoved(now: Standing, step: Entry) -> Standing:
    if not now.exists:
        raise Changed("it is gone")
    return now


_BACK = {"modify": _unmodified, "create": _uncreated, "delete": _undeleted, "rename": _unmoved}
