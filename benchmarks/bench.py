"""What all cases share: the model, a workspace, and both sides as child processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from benchmarks.client import Client
from benchmarks.process import cpu

__all__ = ["FULL", "TINY", "Bench", "Child", "Sizes", "opened"]

Json: TypeAlias = dict[str, Any]

_ROOT = Path(__file__).parent.parent
_LINES = 40


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything is done."""

    repeats: int = 7
    deltas: int = 10_000
    turns: tuple[int, ...] = (50, 300)
    aborts: int = 150
    shells: int = 8
    edits: int = 200
    idle: float = 5
    """Seconds, as is `pause`."""
    pause: float = 1


FULL = Sizes()
TINY = Sizes(repeats=1, deltas=20, turns=(3, 4), aborts=2, shells=2, edits=3, idle=0.1, pause=0.1)


class Child:
    """A process of ours that takes one command a line: the bare loop, or our providers alone."""

    def __init__(self, module: str, url: str, *, cwd: Path, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.{module}"],
            cwd=cwd,
            env={**env, "PYTHONPATH": str(_ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.do("open", url=url)

    @property
    def cpu(self) -> float:
        return cpu(self._process.pid)

    def do(self, what: str, **fields: Any) -> Json:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **fields}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Bench:
    def __init__(self, sizes: Sizes, folder: Path, port: int) -> None:
        self.sizes = sizes
        self.folder = folder
        self._address = f"http://127.0.0.1:{port}"
        self._env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "OPENAI_BASE_URL": f"{self._address}/v1",
            "OPENAI_API_KEY": "benchmark",
        }
        self._runs = 0

    def pilothouse(self) -> Client:
        """A server that has not heard anything yet."""
        command = Path(sys.executable).with_name("pilothouse")
        return Client([str(command)], cwd=self.folder, env=self._env)

    def ready(self) -> tuple[Client, str]:
        """A server with a session, the session's id."""
        client = self.pilothouse()
        client.ask("initialize", self.introduction())
        client.notify("initialized", {})
        session: str = client.ask("session/new", {"cwd": str(self.folder)})["sessionId"]
        return client, session

    def introduction(self, *, editor: bool = False) -> Json:
        """The params of `initialize`, of a program or of an editor."""
        settings = {"mode": "all", "model": "openai-chat/text-1", "run": {"maxTurns": 1_000_000}}
        declared: Json = {"experimental": {"pilothouse": {}}}
        return {
            "processId": os.getpid(),
            "clientInfo": {"name": "pilothouse-headless"},
            "rootUri": self.folder.as_uri(),
            "capabilities": {**declared, "textDocument": {}} if editor else declared,
            "initializationOptions": {"pilothouse": {"settings": settings}},
        }

    def stock(self) -> Client:
        """The smallest server one can write with pygls."""
        script = Path(__file__).with_name("stock.py")
        return Client([sys.executable, str(script)], cwd=self.folder, env=self._env)

    def bare(self) -> AbstractContextManager[Child]:
        return self._child("bare", f"{self._address}/v1/chat/completions")

    def reader(self) -> AbstractContextManager[Child]:
        return self._child("reader", f"{self._address}/v1")

    @contextmanager
    def _child(self, module: str, url: str) -> Generator[Child]:
        child = Child(module, url, cwd=self.folder, env=self._env)
        try:
            yield child
        finally:
            child.kill()

    def model(self, script: str) -> str:
        """A name under which the script is played from its beginning."""
        self._runs += 1
        return f"{script}.{self._runs}"

    def requests(self, model: str) -> tuple[Json, Json]:
        """The first and the last request that came under this name."""
        first, last = (httpx.get(f"{self._address}/{which}?{model}").json() for which in ("first", "last"))
        return first, last


@contextmanager
def opened(sizes: Sizes) -> Generator[Bench]:
    """Everything that has to run meanwhile."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmark-")))
        lines = [f"line {number} of the notes\n" for number in range(1, _LINES + 1)]
        (folder / "notes.txt").write_text("".join(lines), encoding="utf-8")
        model = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.model"], cwd=_ROOT, stdout=subprocess.PIPE, text=True
        )
        stack.callback(model.communicate)
        stack.callback(model.kill)
        assert model.stdout is not None
        yield Bench(sizes, folder, int(model.stdout.readline()))
