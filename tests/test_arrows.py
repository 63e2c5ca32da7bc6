"""Which package may import which: the arrows of docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "pilothouse_agent.kernel": {"pilothouse_agent.kernel"},
    "pilothouse_agent.models": {"pilothouse_agent.kernel", "pilothouse_agent.models"},
    "pilothouse_agent.files": {"pilothouse_agent.kernel", "pilothouse_agent.files"},
    "pilothouse_agent.permissions": {"pilothouse_agent.kernel", "pilothouse_agent.permissions"},
    "pilothouse_agent.tools": {
        "pilothouse_agent.kernel",
        "pilothouse_agent.tools",
        "pilothouse_agent.files",
    },
    "pilothouse_agent.session": {"pilothouse_agent"},
    "pilothouse_server": {"pilothouse_agent", "pilothouse_server"},
}


@pytest.mark.covers("B2")
@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_the_arrows_allow(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _sources(package)
        for name in _imports(path)
        if name.startswith("pilothouse_") and not _within(name, ALLOWED[package])
    ]
    assert wrong == []


@pytest.mark.covers("B2")
def test_the_agent_knows_no_editor_protocol_and_no_terminal() -> None:
    foreign = {"pygls", "lsprotocol", "curses", "readline", "termios", "rich", "argparse"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _sources("pilothouse_agent")
        for name in _imports(path)
        if name.partition(".")[0] in foreign
    ]
    assert wrong == []


def _sources(package: str) -> list[Path]:
    top = "agent" if package.startswith("pilothouse_agent") else "server"
    found = sorted((ROOT / top / package.replace(".", "/")).rglob("*.py"))
    assert found, f"{package} has no sources"
    return found


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def _within(name: str, allowed: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in allowed)
