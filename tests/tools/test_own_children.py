"""Which processes have fallen to the server, told apart from children of its own that come and go."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, os
from pilothouse_agent.tools.shell.own_children import OwnChildren
from pilothouse_agent.tools.shell.process_table import processes

async def main():
    children = OwnChildren()
    children.ours = True
    await children.adopt_orphans()
    child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, start_new_session=True)
    children.add(child.pid)
    (seen,) = [each for each in processes(child.pid) if each.pid == child.pid]
    running = children.is_orphan(seen)
    child.stdin.close()
    await child.wait()
    children.discard(child.pid)
    print(running, children.is_orphan(seen))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.covers("R244")
@pytest.mark.skipif(sys.platform != "linux", reason="orphans fall to somebody else only there")
def test_a_child_that_ends_while_processes_are_looked_through_is_no_orphan() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=20, check=True
    )

    assert done.stdout == "False False\n"
