"""A command that prints a lot, and a search over many files, beside the plain program.

`python -m benchmarks.commands [--megabytes N] [--files N] [--rounds N]`: CPU ratios, each side in turn, and
the longest that the event loop stood still. A part of its own: no model and no server is needed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.permissions.protected import PROTECTED_GLOBS
from pilothouse_agent.tools.search.protected_files import ProtectedFiles
from pilothouse_agent.tools.search.ripgrep import Ripgrep, find_ripgrep
from pilothouse_agent.tools.search.search_scope import resolved_scope
from pilothouse_agent.tools.shell.environment import child_environment
from pilothouse_agent.tools.shell.output import CommandOutput, OutputLimits
from pilothouse_agent.tools.shell.running import Shell

__all__ = ["main"]

_IN_FOLDER = 100
_BEAT = 0.001


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _own() -> float:
    return _cpu(resource.RUSAGE_SELF)


def _children() -> float:
    return _cpu(resource.RUSAGE_CHILDREN)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


@asynccontextmanager
async def _gaps() -> AsyncGenerator[Callable[[], float]]:
    """The longest time between two turns of the loop so far."""
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_BEAT)
            longest = max(longest, time.perf_counter() - before - _BEAT)

    task = asyncio.create_task(beat())
    yield lambda: longest
    task.cancel()


async def _flood(folder: Path, megabytes: int) -> None:
    command = f"yes 'a line of output like many others, 0123456789' | head -c {megabytes}000000"
    reported: list[int] = []
    output = CommandOutput(lambda text: reported.append(len(text)), folder, OutputLimits())
    shell = Shell(str(folder), child_environment(os.environ))
    before = _own()
    await shell.run(command, output, folder=str(folder), timeout=600, signal=AbortSignal())
    await output.finish()
    output.close()
    ours = _own() - before
    before = _own()
    process = await asyncio.create_subprocess_exec("bash", "-c", command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    while await process.stdout.read(65_536):
        pass
    await process.wait()
    plain = _own() - before
    _say(f"{megabytes} MB printed: {ours:.2f} s, plain {plain:.2f} s, {ours / plain:.1f} x")
    _say(f"  progress {sum(reported) / 1e6:.2f} MB")


def _make_tree(folder: Path, files: int) -> None:
    for number in range(0, files, _IN_FOLDER):
        below = folder / str(number // 5_000) / str(number)
        below.mkdir(parents=True)
        for index in range(min(_IN_FOLDER, files - number)):
            (below / f"f{index}.py").write_text(f"def f{index}(): return {number}\n" * 8, encoding="utf-8")


async def _search(folder: Path, files: int) -> None:
    workspace = await asyncio.to_thread(Workspace, [folder])
    scope = await asyncio.to_thread(resolved_scope, workspace, None)
    ripgrep, protected = Ripgrep(child_environment(os.environ)), ProtectedFiles(workspace, PROTECTED_GLOBS)
    async with _gaps() as gaps:
        before = _children()
        searching = ripgrep.run(["--line-number", "--regexp=absent", "--", str(folder)], lambda chunk: True)
        await asyncio.gather(searching, protected.count(ripgrep, scope, None))
        ours, gap = _children() - before, gaps()
    before = _children()
    argv = [find_ripgrep(), "--no-config", "--hidden", "-n", "absent", str(folder)]
    await asyncio.to_thread(subprocess.run, argv, stdout=subprocess.DEVNULL, check=False)
    plain = _children() - before
    _say(f"{files:,} files: ripgrep {ours:.2f} s, plain {plain:.2f} s, {ours / plain:.2f} x")
    _say(f"  the loop stood still for {gap * 1e3:.0f} ms at most")


async def _measure(megabytes: int, files: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        tree, outputs = Path(name, "tree"), Path(name, "outputs")
        outputs.mkdir()
        await asyncio.to_thread(_make_tree, tree, files)
        for _ in range(rounds):
            await _flood(outputs, megabytes)
            await _search(tree, files)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    asyncio.run(_measure(options.megabytes, options.files, options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
