"""Programs that would ask somewhere else than in their output fail at once and say what to do."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilothouse_agent.tools.shell.environment import child_environment
from support.bash import Bash, said

HINT = "pilothouse: nobody can answer here: {}\npilothouse: give the credentials beforehand"
REFUSAL = b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.fixture
def bash(folder: Path) -> Bash:
    """In an environment whose own helpers would wait for somebody."""
    waiting = folder.parent / "waits"
    waiting.write_text("#!/bin/sh\nsleep 60\n", encoding="utf-8")
    waiting.chmod(0o755)
    names = ("GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "BROWSER", "EDITOR", "VISUAL", "GIT_EDITOR")
    asking = dict.fromkeys((*names, "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "PAGER"), str(waiting))
    home = {"HOME": str(folder.parent), "DISPLAY": ":7", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b"}
    home |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b"}
    return Bash(folder, environment=child_environment({**os.environ, **asking, **home}))


@asynccontextmanager
async def guarded_server() -> AsyncGenerator[str]:
    """A web server that wants a password for everything."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(REFUSAL)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"


@pytest.mark.slow
@pytest.mark.covers("R246")
async def test_git_that_needs_a_password_fails_with_a_hint(bash: Bash) -> None:
    async with guarded_server() as url:
        text, failed = said(await bash(f"git ls-remote {url}"))

    assert HINT.format(f"Username for '{url.removesuffix('/x')}': ") in text
    assert failed


@pytest.mark.slow
@pytest.mark.covers("R246")
async def test_a_key_with_a_passphrase_fails_with_a_hint(bash: Bash) -> None:
    text, failed = said(await bash("ssh-keygen -q -t ed25519 -N secret -f k && ssh-keygen -y -f k"))

    assert re.search(HINT.format('Enter passphrase( for "k")?: '), text)
    assert failed


@pytest.mark.slow
@pytest.mark.covers("R246")
async def test_editors_and_pagers_of_git_wait_for_nobody(bash: Bash) -> None:
    made = "git init -q && git commit -q --allow-empty -m a && git commit -q --allow-empty -m b"
    edited = "git rebase -q -i HEAD~1 && git commit -q --amend --allow-empty"
    result = await bash(f"{made} && {edited} && git -c core.pager=no log --format=%s")

    assert said(result) == ("b\na", False)


@pytest.mark.covers("R246")
@pytest.mark.parametrize("program", ["SSH_ASKPASS", "SUDO_ASKPASS", "GIT_ASKPASS", "BROWSER", "GH_BROWSER"])
async def test_whoever_is_asked_instead_refuses(bash: Bash, program: str) -> None:
    text, failed = said(await bash(f'"${program}" "Password:"'))

    assert (text.startswith(HINT.format("Password:")), failed) == (True, True)


@pytest.mark.covers("R246")
@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, {"COUNT": "1", "KEY_0": "credential.interactive", "VALUE_0": "false"}),
        (
            {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "A"},
            {"COUNT": "2", "KEY_0": "user.name", "VALUE_0": "A"}
            | {"KEY_1": "credential.interactive", "VALUE_1": "false"},
        ),
        (
            {"GIT_CONFIG_COUNT": "x"},
            {"COUNT": "1", "KEY_0": "credential.interactive", "VALUE_0": "false"},
        ),
    ],
)
def test_credential_helpers_are_told_not_to_ask(given: dict[str, str], made: dict[str, str]) -> None:
    child = child_environment(given)

    assert child["GCM_INTERACTIVE"] == "never"
    assert {name[11:]: value for name, value in child.items() if name.startswith("GIT_CONFIG_")} == made
