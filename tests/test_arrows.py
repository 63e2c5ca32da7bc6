"""Which room may know which: the arrows of docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOPS = {"pilothouse_agent": "agent", "pilothouse_server": "server", "pilothouse_cli": "server"}

AGENT = {
    "kernel": "",
    "files": "kernel",
    "files.undo": "kernel files",
    "permissions": "kernel permissions.shell",
    "permissions.shell": "",
    "models": "kernel",
    "models.http": "kernel models models.history",
    "models.history": "kernel models",
    "models.chat_completions": "kernel models models.http models.history models.responses.models",
    "models.responses": "kernel models models.http models.history",
    "models.messages": "kernel models models.http models.history",
    "models.scripted": "kernel models models.http models.history",
    "models.keys": "models.choosing.provider_config",
    "models.choosing": "kernel models models.http models.chat_completions models.responses models.messages "
    "models.scripted models.keys",
    "tools": "kernel",
    "tools.shell": "kernel tools",
    "tools.planning": "kernel tools",
    "tools.files": "kernel files tools tools.shell",
    "tools.search": "kernel files tools tools.shell tools.files",
    "settings": "kernel files permissions models models.choosing",
    "session.log": "kernel",
    "session": "kernel session.log files files.undo permissions settings tools tools.shell tools.planning "
    "tools.files tools.search",
}
"""What each room of the agent knows besides itself. A room means its own files, not its inner rooms."""

SERVER = ("wire", "transport", "protocol", "client", "documents", "edits", "sessions", "chat")
"""The rooms of the server: each knows those before it, and the agent."""

WITHOUT_THE_AGENT = {
    "wire": "",
    "transport": "tools.visible",
    "protocol": "kernel files.uris",
    "client": "files.uris",
}
"""What the first rooms of the server may know of the agent; those behind them are free."""

CLI = {
    "terminal": "",
    "run": "terminal headless",
    "demo": "run",
}
FOR_CLIENTS = [f"pilothouse_server.{room}" for room in ("wire", "protocol", "client")]
"""What the command line knows of the server, as any client does."""

ALLOWED = {
    **{
        f"pilothouse_agent.{room}": [f"pilothouse_agent.{known}" for known in names.split()]
        for room, names in AGENT.items()
    },
    **{
        f"pilothouse_server.{room}": [f"pilothouse_server.{known}" for known in SERVER[:place]]
        for place, room in enumerate(SERVER)
    },
    **{
        f"pilothouse_cli.{room}": [*FOR_CLIENTS, *(f"pilothouse_cli.{known}" for known in names.split())]
        for room, names in CLI.items()
    },
}


@pytest.mark.covers("B2")
@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_knows_only_those_that_the_arrows_allow(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _files_of(room)
        for name in _imports(path)
        if name.startswith("pilothouse_") and not _may_know(room, name)
    ]
    assert wrong == []


@pytest.mark.covers("B2")
def test_nobody_knows_the_command_line_and_the_agent_knows_no_server() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package, foreign in (
            ("pilothouse_agent", ("pilothouse_server", "pilothouse_cli")),
            ("pilothouse_server", ("pilothouse_cli",)),
        )
        for path in sorted((ROOT / TOPS[package] / package).rglob("*.py"))
        for name in _imports(path)
        if name.startswith(foreign)
    ]
    assert wrong == []


@pytest.mark.covers("B2")
def test_the_agent_knows_no_editor_protocol_and_no_terminal() -> None:
    foreign = {"pygls", "lsprotocol", "curses", "readline", "termios", "rich", "argparse"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "agent").rglob("*.py"))
        for name in _imports(path)
        if name.partition(".")[0] in foreign
    ]
    assert wrong == []


def test_every_folder_of_sources_is_a_room_with_arrows_of_its_own() -> None:
    rooms = {
        ".".join(folder.relative_to(ROOT / top).parts)
        for package, top in TOPS.items()
        for folder in (ROOT / top / package).rglob("*/")
        if any(folder.glob("*.py"))
    }
    assert rooms == set(ALLOWED)


@pytest.mark.parametrize("room", ALLOWED)
def test_a_door_says_in_a_few_lines_what_is_in_the_room_and_holds_no_code(room: str) -> None:
    module = ast.parse((_folder_of(room) / "__init__.py").read_text(encoding="utf-8"))

    assert [type(statement) for statement in module.body] == [ast.Expr]
    assert len((ast.get_docstring(module) or "").splitlines()) in (1, 2, 3)


def _folder_of(room: str) -> Path:
    return ROOT / TOPS[room.partition(".")[0]] / room.replace(".", "/")


def _files_of(room: str) -> list[Path]:
    return sorted(_folder_of(room).glob("*.py"))


def _may_know(room: str, name: str) -> bool:
    return any(_is_in(name, known) for known in (room, *ALLOWED[room], *_of_the_agent(room)))


def _of_the_agent(room: str) -> list[str]:
    package, _, inner = room.partition(".")
    if package == "pilothouse_agent":
        return []
    if package == "pilothouse_server" and inner in WITHOUT_THE_AGENT:
        return [f"pilothouse_agent.{known}" for known in WITHOUT_THE_AGENT[inner].split()]
    return [known for known in ALLOWED if known.startswith("pilothouse_agent")]


def _imports(path: Path) -> Iterator[str]:
    """Modules in full: `from package import module` names the module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _is_module(inner) else node.module


def _is_module(name: str) -> bool:
    top = TOPS.get(name.partition(".")[0])
    if top is None:
        return False
    place = ROOT / top / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()


def _is_in(name: str, known: str) -> bool:
    """Whether a module is this one or lies in this room itself."""
    return name == known or name.rpartition(".")[0] == known
