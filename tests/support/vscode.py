"""A real VS Code in its server form: the workbench in Chromium, and a client of twenty lines in its Node."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support.wire_run import settled_home

__all__ = ["VSCode", "vscode"]

_LIMIT = 60.0
"""Seconds that anything may take; the first wait includes the starts of server, page and extension host."""
_SETTINGS = {
    "workbench.reduceMotion": "on",
    "files.hotExit": "off",
    "files.autoSave": "off",
    "git.enabled": False,
    "extensions.autoUpdate": False,
    "chat.disableAIFeatures": True,
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.wordBasedSuggestions": "off",
    "editor.autoIndent": "none",
    "editor.autoClosingBrackets": "never",
    "workbench.startupEditor": "none",
    "security.workspace.trust.enabled": False,
}
_CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


class VSCode:
    """Every call ends: one that takes longer than the limit raises."""

    def __init__(self, page: Any, port: int) -> None:
        self.page = page
        self._port = port

    def run(self, body: str) -> Any:
        """What an async function of this body returns in the extension host (`vscode`, `client`, `ended`)."""
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}", body.encode(), method="POST")
        with urllib.request.urlopen(request, timeout=_LIMIT) as response:
            told = json.load(response)
        assert "error" not in told, told["error"]
        return told.get("value")

    def until(self, expression: str, limit: float = _LIMIT) -> None:
        """Wait until an expression of the extension host holds."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if self.run(f"return Boolean({expression})"):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"it did not come to {expression!r}; ended: {self.run('return ended')}")

    def until_started(self) -> None:
        end = time.monotonic() + _LIMIT
        while time.monotonic() < end:
            with suppress(OSError):
                self.until("client.isRunning()")
                return
            self.page.wait_for_timeout(200)
        raise AssertionError("the extension host did not start the client")

    def open(self, path: Path) -> None:
        self.run(f"await vscode.window.showTextDocument(vscode.Uri.file({json.dumps(str(path))}))")
        self.page.locator(".editor-instance .view-line").first.wait_for(timeout=_LIMIT * 1000)

    def text(self, path: Path) -> str:
        """Of the document as the editor holds it."""
        return self.run(
            f"return (await vscode.workspace.openTextDocument({json.dumps(str(path))})).getText()"
        )

    def prompt(self, text: str) -> None:
        self.run(
            "await client.sendRequest('workspace/executeCommand', "
            f"{{command: 'pilothouse.prompt', arguments: [{{text: {json.dumps(text)}}}]}})"
        )

    def keys(self, text: str, *, a_second: float) -> None:
        """Typed into whatever has the focus, at the rate of a person."""
        self.page.keyboard.type(text, delay=1000 / a_second)

    def press(self, chord: str) -> None:
        self.page.keyboard.press(chord)


@contextmanager
def vscode(folder: Path, *, home: Path, variables: Mapping[str, str]) -> Generator[VSCode]:
    """On `folder`, with everything of its own below `home`; the server gets `variables`."""
    installed = Path(os.environ.get("PILOTHOUSE_VSCODE", "/nowhere"))
    if not (installed / "extensions").is_dir():
        pytest.skip("VS Code is not here: tests/editors/vscode/install DIR, then PILOTHOUSE_VSCODE=DIR")
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("no chromium on the path")
    playwright = pytest.importorskip("playwright.sync_api")
    port, test_port = _free_port(), _free_port()
    server = _server(installed, folder, home, port, {**variables, "TEST_PORT": str(test_port)})
    try:
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=_CHROMIUM)
            page = browser.new_page(viewport={"width": 1200, "height": 800})
            _visit(page, f"http://127.0.0.1:{port}/?folder={folder}")
            editor = VSCode(page, test_port)
            editor.until_started()
            yield editor
            browser.close()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _server(
    installed: Path, folder: Path, home: Path, port: int, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    data = home / "data"
    (data / "User").mkdir(parents=True)
    (data / "User" / "settings.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
    shutil.copytree(installed / "extensions", home / "extensions")
    command = {"command": sys.executable, "args": ["-P", "-m", "pilothouse_cli.main", "serve"]}
    homes = {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environment = {
        **settled_home(home / "pilothouse"),
        **homes,
        "HOME": str(home),
        "EXTENSIONS_GALLERY": '{"serviceUrl":""}',
        "TEST_SERVER": json.dumps(command),
        **variables,
    }
    entry = installed / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    options = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--user-data-dir", str(data)]
    options += ["--extensions-dir", str(home / "extensions"), "--disable-telemetry", "--disable-update-check"]
    options += ["--disable-workspace-trust", "--disable-getting-started-override", str(folder)]
    return subprocess.Popen(
        [str(_node()), str(entry), *options],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _node() -> Path:
    """That of the package playwright: the system's may be too old for VS Code."""
    return Path(importlib.import_module("playwright").__file__ or "").parent / "driver" / "node"


def _visit(page: Any, address: str) -> None:
    end = time.monotonic() + _LIMIT
    while True:
        with suppress(Exception):
            page.goto(address, timeout=5000)
            return
        assert time.monotonic() < end, "VS Code's server did not answer"
        page.wait_for_timeout(200)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
