"""What is left on the disk, for whom, and where the doctor says it is."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.wire_models import call
from support.wire_run import settled_home

pytestmark = [pytest.mark.slow, pytest.mark.covers("R275")]


def pilothouse(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "pilothouse_cli.main", *arguments],
        env=settled_home(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        preexec_fn=lambda: os.umask(0o022),
    )


def test_what_a_run_keeps_is_for_its_owner_alone_and_stands_where_the_doctor_says(tmp_path: Path) -> None:
    home, project, script = tmp_path / "home", tmp_path / "project", tmp_path / "play.json"
    project.mkdir()
    turns = [{"calls": [call("c1", "write_file", path="a.txt", content="one")]}, {"text": "Done."}]
    script.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    where = ["--cwd", str(project), "--model", f"scripted/{script}", "--approve", "all"]
    assert pilothouse(home, "run", *where, "Hi").returncode == 0

    kept = [path for path in home.rglob("*") if path.is_file()]
    told = json.loads(pilothouse(home, "doctor", "--json").stdout)["findings"]
    [places] = [finding["text"] for finding in told if finding["name"] == "places"]
    folders = [part.partition(" in ")[2] for part in places.split("; ")]

    assert kept != []
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in kept} == {0}
    assert [path for path in kept if not str(path).startswith(tuple(folders))] == []
