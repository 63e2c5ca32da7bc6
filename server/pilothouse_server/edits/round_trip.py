"""Whether a file would survive being edited and saved by the editor that has it open."""

from __future__ import annotations

from pilothouse_agent.files.codec import NotText, decode, encode
from pilothouse_agent.files.declared import Declared

__all__ = ["refuse_unencodable", "round_trip_fault"]

_REPLACEMENT = "\ufffd"


def round_trip_fault(
    text: str, data: bytes | None, *, shown: str, declared: Declared | None = None
) -> str | None:
    """Why not, as a sentence; None when it would. `data` is the file on disk, None when there is none."""
    try:
        on_disk = decode(data, shown, declared=declared).text if data is not None else ""
    except NotText as error:
        return str(error)
    if text.count(_REPLACEMENT) <= on_disk.count(_REPLACEMENT):
        return None
    return (
        f"The editor shows characters of {shown} as U+FFFD that are others on disk: it has read the file in "
        "a wrong encoding and would ruin it in saving. Nothing was changed. Reopen it in its own encoding."
    )


def refuse_unencodable(text: str, data: bytes | None, *, shown: str, declared: Declared | None) -> None:
    """Raises `ToolError` for a new text that could not be saved in the encoding of its file."""
    if data is None or declared is None:
        return
    file = decode(data, shown, declared=declared)
    if not file.encoding.startswith("utf-"):
        encode(text, file, shown, declared=declared)
