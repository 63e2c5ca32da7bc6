"""What an edit that was sent, and was not made as it was meant, is to the model."""

from __future__ import annotations

from pilothouse_agent.files.open_files import PartlyChanged
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.documents.document import Document
from pilothouse_server.edits.edit_request import Outcome

__all__ = ["failed_edit"]


def failed_edit(document: Document, shown: str, outcome: Outcome, made: FileChange) -> ToolError:
    """`made`: the change as far as it was seen. A document whose text is in doubt now is told so."""
    if outcome.kind == "partly":
        return PartlyChanged(
            f"The editor made only a part of the edit of {shown}, and refused the rest: {outcome.reason}. "
            "Read it again before it is changed.",
            made,
        )
    if outcome.kind == "otherwise":
        text = (
            f"The editor says that it took the edit of {shown}, {outcome.reason}. Read it again before "
            "it is changed."
        )
        return PartlyChanged(text, made) if outcome.text else ToolError(text)
    sent = f"Outcome unknown: an edit of {shown} was sent, and {outcome.reason}."
    if document.closed:
        return ToolError(f"{sent} Read it again before it is changed.")
    document.unsettle(f"an edit was sent, and {outcome.reason}")
    return ToolError(
        f"{sent} It is not changed again until the editor has told its text. Read it before going on."
    )
