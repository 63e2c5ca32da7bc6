"""`pilothouse doctor`: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from pilothouse_agent.kernel.json_lines import inert
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.models.choosing.provider_reader import read_providers
from pilothouse_agent.models.choosing.registry import default_registry
from pilothouse_agent.models.keys.credentials import Credentials
from pilothouse_agent.models.keys.dotenv import read_dotenv
from pilothouse_agent.models.keys.keyring_key import keyring_is_there
from pilothouse_agent.settings.chosen import chosen_settings
from pilothouse_agent.settings.places import kept_places, user_settings_path
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.trust import is_trusted
from pilothouse_agent.tools.search.ripgrep import find_ripgrep
from pilothouse_agent.tools.visible import visible
from pilothouse_cli.headless import JsonRpcClient
from pilothouse_server.wire.entry import complain, own_process, say

__all__ = ["Finding", "examine", "findings"]

Level = Literal["ok", "warning", "error"]

_PACKAGES = ("pygls", "lsprotocol", "pydantic", "orjson", "httpx")
_MARKS = {"ok": "✓", "warning": "!", "error": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    level: Level
    text: str


def examine(arguments: list[str]) -> int:
    """The command; 0 unless something is wrong that keeps the agent from working."""
    if arguments not in ([], ["--json"]):
        complain("usage: pilothouse doctor [--json]")
        return 2
    found = findings(os.environ)
    if arguments:
        report = json.dumps({"findings": [asdict(finding) for finding in found]}, indent=2)
        say(inert(report.encode()).decode() + "\n")
    else:
        for finding in found:
            say(f"{_MARKS[finding.level]} {finding.name}: {visible(finding.text)}\n")
    return int(any(finding.level == "error" for finding in found))


def findings(environment: Mapping[str, str]) -> list[Finding]:
    checks: tuple[Callable[[Mapping[str, str]], Finding], ...] = (
        _python,
        _packages,
        _search,
        _shell,
        _settings,
        _places,
        _keys,
        _model,
        _server,
    )
    return [check(environment) for check in checks]


def _python(environment: Mapping[str, str]) -> Finding:
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding("python", "ok", text)


def _packages(environment: Mapping[str, str]) -> Finding:
    parts: list[str] = []
    for name in ("pilothouse", *_PACKAGES):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            return Finding("packages", "error", f"{name} is not installed; install pilothouse again.")
    return Finding("packages", "ok", ", ".join(parts))


def _search(environment: Mapping[str, str]) -> Finding:
    try:
        ended = subprocess.run(
            [find_ripgrep(), "--version"], capture_output=True, text=True, encoding="utf-8", timeout=5
        )
    except (ToolError, OSError, subprocess.TimeoutExpired) as error:
        return Finding("search", "error", f"{error}")
    return Finding("search", "ok", ended.stdout.partition("\n")[0])


def _shell(environment: Mapping[str, str]) -> Finding:
    found = shutil.which("bash", path=environment.get("PATH"))
    if found is None:
        return Finding("shell", "warning", "There is no bash in PATH, so the bash tool cannot work.")
    return Finding("shell", "ok", found)


def _settings(environment: Mapping[str, str]) -> Finding:
    path = user_settings_path(environment)
    _, wrong = chosen_settings(environment)
    if wrong:
        return Finding("settings", "warning", " ".join(wrong))
    return Finding("settings", "ok", str(path) if path.exists() else f"{path} (not there; defaults count)")


def _places(environment: Mapping[str, str]) -> Finding:
    kept = kept_places(environment)
    return Finding("places", "ok", "; ".join(f"{what} in {path}" for what, path in kept.items()))


def _keys(environment: Mapping[str, str]) -> Finding:
    settings, _ = chosen_settings(environment)
    configs, _ = read_providers(settings.providers or {}, environment)
    dotenv, problems = _dotenv(settings, frozenset(config.key_name for config in configs.values()))
    credentials = Credentials(environment, dotenv=dotenv)
    found = {name: credentials.source(config) for name, config in configs.items()}
    parts = [f"{name} from {source}" for name, source in found.items() if source is not None]
    if keyring_is_there():
        parts.append("and what the keyring holds")
    text = ", ".join(parts) or "none was found; models on this machine need none"
    if problems:
        return Finding("keys", "warning", " ".join([f"{text}.", *problems]))
    return Finding("keys", "ok", f"{text}{_unused_dotenv(settings)}")


def _model(environment: Mapping[str, str]) -> Finding:
    settings, _ = chosen_settings(environment)
    if settings.model is None:
        text = "No default model is chosen. Set PILOTHOUSE_MODEL, or give --model to each run."
        return Finding("model", "warning", text)
    models = default_registry(environment, settings=settings.providers)
    models = models.with_keys(_dotenv(settings, models.key_variables)[0])
    if problem := models.problem(settings.model):
        return Finding("model", "warning", problem.message)
    source = models.key_source(settings.model)
    return Finding("model", "ok", f"{settings.model} (key from {source})" if source else settings.model)


def _dotenv(settings: Settings, names: frozenset[str]) -> tuple[dict[str, str], list[str]]:
    """The keys of the working folder's `.env` if it is trusted, and what is wrong with them."""
    folder = _folder()
    return read_dotenv(folder, names) if folder and is_trusted([folder], settings.trust_folders) else ({}, [])


def _folder() -> str:
    """Where we are called; empty when it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _unused_dotenv(settings: Settings) -> str:
    folder = _folder()
    if not folder or not os.path.exists(os.path.join(folder, ".env")):
        return ""
    if is_trusted([folder], settings.trust_folders):
        return ""
    return f"; keys in .env do not count here, because {folder} is not in trust.folders of your config.toml"


def _server(environment: Mapping[str, str]) -> Finding:
    try:
        name = asyncio.run(_greeted(own_process("serve")))
    except Exception as error:
        return Finding("server", "error", f"The server does not answer: {error}")
    return Finding("server", "ok", f"answers as {name}")


async def _greeted(server: Sequence[str]) -> str:
    client = JsonRpcClient()
    await client.start(server)
    try:
        result = await client.handshake({"processId": os.getpid(), "rootUri": None, "capabilities": {}})
        return f"{result['serverInfo']['name']} {result['serverInfo']['version']}"
    finally:
        await client.close()
