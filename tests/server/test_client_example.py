"""docs/examples/client.py is a whole client, as docs/writing-a-client.md says."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.door import Door
from support.wire_models import Turn, call
from support.wire_run import settled_home

CLIENT = Path(__file__).parents[2] / "docs" / "examples" / "client.py"
LIMIT = 20.0


@contextmanager
def running(tmp_path: Path, *turns: Turn) -> Generator[subprocess.Popen[str]]:
    project, script = tmp_path / "project", tmp_path / "script.json"
    project.mkdir(exist_ok=True)
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [sys.executable, "-I", str(CLIENT), str(project), f"scripted/{script}", "Go"],
        env={**settled_home(tmp_path / "home"), "PATH": commands},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_it_is_short_and_needs_nothing_but_python() -> None:
    text = CLIENT.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(text))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}

    assert len(text.splitlines()) < 100
    assert imported <= sys.stdlib_module_names


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "made"), [("Allow", True), ("Reject", False), ("x", False)])
def test_it_streams_an_answer_and_asks_for_approval(tmp_path: Path, answer: str, made: bool) -> None:
    write: Turn = {"text": "Writing ", "calls": [call("c1", "write_file", path="a.txt", content="new\n")]}
    with running(tmp_path, write, {"text": ["Do", "ne."]}) as process:
        output, _ = process.communicate(f"{answer}\n", LIMIT)

    assert [line for line in output.splitlines() if " / " not in line] == [
        *("Writing ", "[Write a.txt]", "", "Write a.txt?", "+new", "Done.", "completed")
    ]
    assert (tmp_path / "project" / "a.txt").exists() == made
    assert process.returncode == 0


@pytest.mark.slow
def test_an_interrupt_aborts_the_run(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    door = Door(tmp_path / "project" / "door")
    with running(tmp_path, {"calls": [call("c1", "bash", command=door.command)]}) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Allow\n")
        process.stdin.flush()
        while " / " not in (line := process.stdout.readline()):
            assert line
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=LIMIT)

    assert rest.splitlines()[-1] == "aborted"
    assert process.returncode == 0
