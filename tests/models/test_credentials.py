"""Where keys come from, which source counts, and that a key is shown to nobody."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.keys.credentials import Credential, Credentials, KeyMissing
from pilothouse_agent.models.keys.dotenv import read_dotenv
from pilothouse_agent.models.keys.keyring_key import keyring_is_there, keyring_key

CONFIG = ProviderConfig("x", "openai-chat", "https://h/v1", "", "X_KEY")


class _Ring:
    """A keyring in memory; notes what it is asked."""

    def __init__(self, **keys: str) -> None:
        self.keys = keys
        self.asked: list[str] = []

    async def __call__(self, name: str) -> str | None:
        self.asked.append(name)
        return self.keys.get(name)


def _credentials(
    environment: dict[str, str] | None = None,
    *,
    dotenv: dict[str, str] | None = None,
    ring: _Ring | None = None,
    command_limit: float = 5,
) -> Credentials:
    return Credentials(
        environment or {},
        dotenv=dotenv,
        keyring=ring or _Ring(),
        has_keyring=lambda: ring is not None,
        command_limit=command_limit,
    )


def _printing(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"print({text!r})")


async def test_the_sources_count_in_their_documented_order() -> None:
    config = replace(CONFIG, key="config-key", key_command=_printing("command-key"))
    environment, dotenv = {"X_KEY": " environment-key "}, {"X_KEY": "dotenv-key"}
    ring = _Ring(x="keyring-key")
    order: list[tuple[ProviderConfig, dict[str, str]]] = [
        (config, environment),
        (config, {}),
        (replace(config, key=""), {"X_KEY": " "}),
        (CONFIG, {}),
    ]
    found = [
        await _credentials(variables, dotenv=dotenv, ring=ring).find(asked) for asked, variables in order
    ]
    assert found == [
        Credential("environment-key", "environment"),
        Credential("config-key", "config"),
        Credential("command-key", "command"),
        Credential("dotenv-key", "dotenv"),
    ]
    assert ring.asked == []
    assert await _credentials(ring=ring).find(CONFIG) == Credential("keyring-key", "keyring")
    assert ring.asked == ["x"]


async def test_without_any_source_there_is_no_key() -> None:
    credentials = _credentials({"Y_KEY": "y"})
    assert await credentials.find(CONFIG) is None
    assert (credentials.source(CONFIG), credentials.hopeless(CONFIG)) == (None, True)


def test_only_commands_and_keyrings_make_a_stir() -> None:
    config, ring = replace(CONFIG, key_command=("/nowhere/at/all",)), _Ring()
    assert _credentials().is_quiet(CONFIG)
    assert _credentials({"X_KEY": "x"}, ring=ring).is_quiet(config)
    assert not _credentials().is_quiet(config)
    assert not _credentials(ring=ring).is_quiet(CONFIG)


def test_a_source_can_be_told_without_running_anything() -> None:
    config = replace(CONFIG, key_command=("/nowhere/at/all",))
    ring = _Ring()
    assert _credentials(ring=ring).source(config) == "command"
    assert not _credentials(ring=ring).hopeless(CONFIG)
    assert ring.asked == []


FAILING: dict[str, tuple[tuple[str, ...], str]] = {
    "exit code": (
        (sys.executable, "-c", "print('SENTINEL-1'); raise SystemExit(3)"),
        "The command in providers.x.keyCommand failed with exit code 3.",
    ),
    "silence": ((sys.executable, "-c", ""), "The command in providers.x.keyCommand printed nothing."),
    "not there": (
        ("/nowhere/key",),
        "The command in providers.x.keyCommand could not be started: No such file or directory.",
    ),
}


@pytest.mark.covers("R175")
@pytest.mark.parametrize("name", FAILING)
async def test_a_command_that_fails_is_told_without_what_it_printed(name: str) -> None:
    command, text = FAILING[name]
    with pytest.raises(KeyMissing) as raised:
        await _credentials().find(replace(CONFIG, key_command=command))
    assert str(raised.value) == text


async def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {pid}; wait"
    config = replace(CONFIG, key_command=("sh", "-c", script))
    with pytest.raises(KeyMissing, match=r"did not end within 0\.3 s\.$"):
        await _credentials(command_limit=0.3).find(config)
    assert _is_gone(pid.read_text(encoding="utf-8").strip())


def _is_gone(pid: str) -> bool:
    """Not there, or dead and only waiting for somebody to ask after it."""
    try:
        return (Path("/proc") / pid / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


PRINTING = {
    "in two pieces": "printf key; sleep 0.1; printf -- -1",
    "after a blank line": "echo; sleep 0.1; echo key-1",
    "before more than a pipe holds": "echo key-1; yes | head -c 300000",
    "and leaves a child behind that holds the pipe": "sleep 2 & echo key-1",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", PRINTING)
async def test_a_key_is_the_whole_first_line_however_it_is_printed(how: str) -> None:
    config = replace(CONFIG, key_command=("sh", "-c", PRINTING[how]))
    assert await _credentials(command_limit=1.5).find(config) == Credential("key-1", "command")


@pytest.mark.covers("R175")
def test_a_credential_does_not_show_its_key() -> None:
    assert repr(Credential("SENTINEL-1", "config")) == "Credential(source='config')"


async def test_where_no_keyring_is_installed_there_is_no_key_in_it() -> None:
    if keyring_is_there():
        pytest.skip("the package keyring is installed here")
    assert await keyring_key("x") is None


DOTENV = """\
# comment
OPENAI_API_KEY=sk-plain # behind it
export ANTHROPIC_API_KEY = "sk double"
MISTRAL_API_KEY='sk-single#x'
GROQ_API_KEY=
GEMINI_API_KEY=first
GEMINI_API_KEY=second
DATABASE_URL=postgres://secret
PATH=/evil
OPENAI_BASE_URL=https://evil.example
not a line
"""


def test_only_keys_are_taken_from_a_dotenv_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xef\xbb\xbf" + DOTENV.encode())
    names = {f"{name}_API_KEY" for name in ("OPENAI", "ANTHROPIC", "MISTRAL", "GROQ", "GEMINI")}
    keys = {
        "OPENAI_API_KEY": "sk-plain",
        "ANTHROPIC_API_KEY": "sk double",
        "MISTRAL_API_KEY": "sk-single#x",
        "GEMINI_API_KEY": "second",
    }
    assert read_dotenv(tmp_path, names) == (keys, [])


UNUSABLE: dict[str, tuple[bytes, str]] = {
    "not text": (b"OPENAI_API_KEY=SENTINEL\xff", "No key is taken from {}: it is not UTF-8 text."),
    "large": (b"OPENAI_API_KEY=SENTINEL\n" * 12_000, "No key is taken from {}: it is larger than 256 KB."),
    "an open quote": (
        b"# keys\nOPENAI_API_KEY='SENTINEL\nX='open",
        "{}, line 2: OPENAI_API_KEY is not taken, because its value cannot be read; "
        "write it as NAME=value on one line.",
    ),
}


@pytest.mark.covers("R175")
@pytest.mark.parametrize("name", UNUSABLE)
def test_a_dotenv_file_that_cannot_be_used_is_told_without_what_it_holds(name: str, tmp_path: Path) -> None:
    content, problem = UNUSABLE[name]
    file = tmp_path / ".env"
    file.write_bytes(content)
    assert read_dotenv(tmp_path, {"OPENAI_API_KEY"}) == ({}, [problem.format(file)])


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_dotenv_that_is_no_file_is_told_and_not_waited_for(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    file = tmp_path / ".env"
    make(file)
    assert read_dotenv(tmp_path, {"OPENAI_API_KEY"}) == (
        {},
        [f"No key is taken from {file}: it is not a file."],
    )


def test_where_there_is_no_dotenv_file_nothing_is_told(tmp_path: Path) -> None:
    assert read_dotenv(tmp_path, {"OPENAI_API_KEY"}) == ({}, [])
    assert read_dotenv(tmp_path / "nowhere", {"OPENAI_API_KEY"}) == ({}, [])
