"""A change as a line of the journal: the first of a file holds its text, later ones what they replace.

An edit of a large file then costs about as much as the edit, not as the file.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

from pilothouse_agent.files.equal_ends import equal_end, equal_start
from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.kernel.ports import FileChange

__all__ = ["Entry", "Line", "LineReader", "LineWriter"]

Line: TypeAlias = dict[str, Any]
"""A JSON object."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one file."""

    run_id: str
    call_id: str
    change: FileChange
    remains: Remains | None = None


class LineWriter:
    """Gives the lines of one journal, each of which may count on those that it gave before."""

    def __init__(self) -> None:
        self._left: dict[str, str] = {}
        """The hash of the text that the journal leaves a file with."""
        self._hashes = _Hashes()

    def line(self, entry: Entry) -> Line:
        """To be written before the next; otherwise `forget` is due."""
        change, remains = entry.change, entry.remains
        before, after = self._hashes.of(change.before), self._hashes.of(change.after)
        line: Line = {
            "run": entry.run_id,
            "call": entry.call_id,
            "kind": change.kind,
            "via": change.via,
            "path": change.path,
            "source": change.source,
            "folders": change.folders or None,
            "beforeHash": before,
            "afterHash": after,
            **self._texts(change, before),
        }
        if remains is not None:
            line["data"] = base64.b64encode(remains.data).decode("ascii")
            line["mode"] = remains.mode
        self._left.pop(change.source or "", None)
        self._left.pop(change.path, None)
        if after is not None:
            self._left[change.path] = after
        return {name: value for name, value in line.items() if value is not None}

    def forget(self) -> None:
        """Somebody else may have written: the next line of each file holds its whole text."""
        self._left.clear()

    def _texts(self, change: FileChange, before_hash: str | None) -> Line:
        before, after = change.before, change.after
        if before is None or after is None:
            return {"before": before, "after": after}
        start = equal_start(before, after)
        end = equal_end(before, after, most=min(len(before), len(after)) - start)
        known = self._left.get(change.path) == before_hash
        return {
            "before": None if known else before,
            "start": start,
            "end": end,
            "new": after[start : len(after) - end],
        }


class LineReader:
    """Takes all lines of a journal in their order."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        """What the lines so far leave the files with."""
        self._hashes = _Hashes()

    def entry(self, line: Line) -> Entry | None:
        """None when it was damaged, or a line that it counts on."""
        try:
            change = self._change(line)
            data = line.get("data")
            remains = None if data is None else Remains(base64.b64decode(data), line["mode"])
            return Entry(line["run"], line["call"], change, remains)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def _change(self, line: Line) -> FileChange:
        path, source = line["path"], line.get("source")
        known = self._texts.pop(path, None)
        self._texts.pop(source or "", None)
        before, after = line.get("before"), line.get("after")
        if "start" in line:
            before = known if before is None else before
            after = _spliced(before or "", line["start"], line["end"], line["new"])
        hashes = self._hashes.of(before), self._hashes.of(after)
        if hashes != (line.get("beforeHash"), line.get("afterHash")):
            raise ValueError("another text than was written")
        if after is not None:
            self._texts[path] = after
        folders = tuple(map(str, line.get("folders", ())))
        return FileChange(path, line["kind"], line["via"], before, after, source, folders=folders)


class _Hashes:
    """Remembers the last one: the text that one change leaves is what the next one finds."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None

    def of(self, text: str | None) -> str | None:
        if text is None:
            return None
        if self._last is None or self._last[0] != text:
            # Of the sure ones the one that processors have instructions for.
            self._last = text, sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._last[1]


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return f"{text[:start]}{new}{text[len(text) - end :]}"
