"""The command line on an event loop that watches no terminal, as on macOS by the name /dev/tty."""

from __future__ import annotations

import asyncio
import errno
import os
import selectors
import sys
from typing import Any

from pilothouse_cli.main import main


class RefusingSelector(selectors.DefaultSelector):
    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if os.isatty(fileobj if isinstance(fileobj, int) else fileobj.fileno()):
            raise OSError(errno.EINVAL, "Invalid argument")
        return super().register(fileobj, events, data)


class Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.SelectorEventLoop(RefusingSelector())


if __name__ == "__main__":
    asyncio.set_event_loop_policy(Policy())  # pyright: ignore[reportDeprecated]
    sys.exit(main())
