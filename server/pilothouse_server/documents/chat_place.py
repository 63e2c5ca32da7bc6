"""Where a chat is kept: `.pilothouse/chat.md`, or the next free name beside another running server's."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ChatPlace", "claim", "is_chat"]

_FOLDER, _FIRST, _LOCKS = ".pilothouse", "chat.md", ".chats"
_NAME = re.compile(r"chat(-[2-9]|-\d\d)?\.md")
_MOST = 99


@dataclass(frozen=True, slots=True)
class ChatPlace:
    folder: str
    name: str = f"{_FOLDER}/{_FIRST}"
    """Within the folder."""

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.name)

    @property
    def key(self) -> str:
        """What its memory goes by: the folder, as long as it is the only chat there."""
        return self.folder if self == ChatPlace(self.folder) else self.path

    @property
    def leads_elsewhere(self) -> bool:
        """A workspace of others could lead the chat into any file of the user's. Blocks."""
        return os.path.realpath(self.path) != os.path.join(os.path.realpath(self.folder), self.name)


def is_chat(path: str | None) -> bool:
    """Whether a file is some server's chat."""
    folder, name = os.path.split(path or "")
    return os.path.basename(folder) == _FOLDER and _NAME.fullmatch(name) is not None


def claim(folder: str) -> ChatPlace:
    """The first place that no other process holds; it is this one's until it ends. Blocks."""
    import fcntl

    first = ChatPlace(folder)
    if first.leads_elsewhere:
        return first
    with suppress(OSError):
        Path(folder, _FOLDER).mkdir(exist_ok=True)
        # Never closed: that would give the place up.
        locks = os.open(os.path.join(folder, _FOLDER, _LOCKS), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        for number in range(1, _MOST + 1):
            with suppress(BlockingIOError, PermissionError):
                fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
                return first if number == 1 else ChatPlace(folder, f"{_FOLDER}/chat-{number}.md")
    return first
