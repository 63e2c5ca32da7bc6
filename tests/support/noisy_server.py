"""The server, with a tool and a library in it that print wherever they can."""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
import threading
import warnings
from typing import Any

from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_server.serving import serve

__all__: list[str] = []


def noise() -> None:
    print("printed")
    sys.stdout.write("written\n")
    sys.stdout.flush()
    os.write(1, b"written to the descriptor\n")
    ctypes.CDLL(None).dprintf(1, b"written by a library\n")
    sys.stderr.write("\r 10%|#         | a progress bar")
    warnings.warn("a warning", stacklevel=1)
    logging.getLogger("somebody").error("an error")
    subprocess.run(["sh", "-c", "echo from a child; cat; echo x >&2"], check=True)
    threading.Thread(target=lambda: print("from a thread")).start()


if __name__ == "__main__":
    bind = GlobFileTool.bind

    def noisy(self: Any, arguments: Any) -> Any:
        noise()
        return bind(self, arguments)

    GlobFileTool.bind = noisy
    serve()
