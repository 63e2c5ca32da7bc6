"""Every benchmark runs and says what it measured; how long it took is no matter here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIGURES = {
    "start": {"pilothouse cpu ms", "pilothouse to agent/state wall ms", "stock pygls cpu ms"},
    "first-delta": {"pilothouse cold wall ms", "pilothouse rested cpu ms", "bare warm wall ms"},
    "stream": {"pilothouse text cpu ms", "bare text cpu ms", "client text cpu ms", "bare packed cpu ms"},
    "reader": {"pilothouse openai cpu ms", "bare openai-chat cpu ms", "pilothouse anthropic cpu ms"},
    "turns": {"pilothouse 4 cpu ms/turn", "pilothouse 4 growth us/turn", "bare 3 wall ms/turn"},
    "read-turns": {"pilothouse 3 cpu ms/turn", "pilothouse 4 peak MB", "bare 4 peak MB"},
    "shell": {"pilothouse wall ms"},
    "abort": {"p50 ms", "p99 ms"},
    "edits": {"pilothouse cpu ms/edit"},
    "actions": {"pilothouse cpu ms/answer"},
    "idle": {"pilothouse cpu ms/s"},
    "custom-messages": {"custom 66 cpu us", "custom 1000 cpu us", "user 1000 cpu us"},
    "kept-sessions": {"append, first cpu us", "load cpu ms", "list all cpu ms"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_benchmark_gives_its_figures_as_json(name: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", name, "--tiny", "--json", str(file)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)

    assert (done.returncode, done.stderr) == (0, "")
    written = json.loads(file.read_text(encoding="utf-8"))
    figures = written["cases"][name]["figures"]
    assert FIGURES[name] - set(figures) == set()
    assert all({"min", "median", "n"} == set(figure) for figure in figures.values())
    assert {"python", "system", "cores", "load", "packages"} == set(written["machine"])


def test_every_benchmark_is_looked_at_here() -> None:
    listing = [sys.executable, "-c", "from benchmarks.cases import CASES; print(*CASES)"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, timeout=50).stdout

    assert set(names.split()) == set(FIGURES)
