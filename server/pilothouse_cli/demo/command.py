"""The command `pilothouse demo`: the scripted model mends a sample project, all shown as it happens."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from pilothouse_cli.run.command import run_prompt
from pilothouse_cli.run.options import RunOptions
from pilothouse_cli.run.stops import unwinding

__all__ = ["run_demo"]

_PROMPT = "A test of the logbook fails. Find out why and mend it."

_BEFORE = """\
A sample project with a failing test, and a model that plays a script, so that
no key and no network are needed. The prompt:

  """

_AFTER = """
That was a whole run: the agent read, searched, edited and tested in a sample
project, which is gone again. Next, in a project and with a model of your own:

  pilothouse run --model openai-chat/NAME "What does this project do?"
"""


def run_demo() -> int:
    """Blocks; the exit code is that of the run. What the run keeps is gone with its project."""
    with unwinding(), tempfile.TemporaryDirectory(prefix="pilothouse-demo-") as folder:
        project = Path(folder).resolve() / "logbook"
        _unpack(project)
        _say(f"{_BEFORE}{_PROMPT}\n\n")
        with as_file(files("pilothouse_cli.demo") / "script.json") as script:
            options = RunOptions(_PROMPT, project, model=f"scripted/{script}", approve="all")
            home = str(project.with_name("home"))
            code = run_prompt(options, environment={**os.environ, "PILOTHOUSE_HOME": home})
    if code == 0:
        _say(_AFTER)
    return code


def _unpack(project: Path) -> None:
    """The files are kept as text, so that tools that look for source pass over them."""
    project.mkdir()
    with as_file(files("pilothouse_cli.demo") / "project") as kept:
        for file in kept.glob("*.txt"):
            (project / file.stem).write_bytes(file.read_bytes())


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
