"""Unsaved texts of open files, searched as the editor has them."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pilothouse_agent.files.open_files import OpenFiles, UnsavedFile
from pilothouse_agent.tools.search.protected_files import ProtectedFiles
from pilothouse_agent.tools.search.search_scope import SearchScope

__all__ = ["laid_out", "unsaved_in", "unsearched_notice"]


async def unsaved_in(
    scope: SearchScope, open_files: OpenFiles | None, protected: ProtectedFiles
) -> Sequence[UnsavedFile]:
    """Those below the roots of the scope, but for protected ones."""
    files = await open_files.unsaved() if open_files is not None else ()
    return [file for file in files if scope.holds(file.path) and not protected.covers(file.path)]


@asynccontextmanager
async def laid_out(files: Sequence[UnsavedFile]) -> AsyncGenerator[dict[str, str]]:
    """The texts in files of their own, and which they are: the search program knows no other way."""
    texts = {file.path: file.text for file in files if file.text is not None}
    if not texts:
        yield {}
        return
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="pilothouse-unsaved-")
    try:
        yield await asyncio.to_thread(_written, Path(folder), texts)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def unsearched_notice(files: Sequence[UnsavedFile], scope: SearchScope) -> str:
    """Blocks as `shown_path` does. Empty when all could be searched."""
    names = sorted(scope.shown_path(file.path) for file in files if file.text is None)
    if not names:
        return ""
    return f"[not searched, since the editor's text is not certain or the file is gone: {', '.join(names)}]"


def _written(folder: Path, texts: dict[str, str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for number, (path, text) in enumerate(texts.items()):
        copy = folder / str(number)
        copy.write_bytes(text.encode("utf-8", "replace"))
        names[str(copy)] = path
    return names
