"""Where a provider's key comes from. The first source that has one is used, in this order:

1. environment: the provider's variable, such as `OPENAI_API_KEY`
2. config: `key` in the user's own config.toml, which nobody else may be able to read
3. command: what `keyCommand` in the user's own config.toml prints
4. dotenv: the same variable in the `.env` of a working folder that is trusted
5. keyring: the system's, service `pilothouse`, user name the provider's name

Sources may be named to anybody; keys go to their provider only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.keys.keyring_key import keyring_is_there, keyring_key

__all__ = ["Credential", "Credentials", "KeyMissing", "KeySource"]

KeySource: TypeAlias = Literal["environment", "config", "command", "dotenv", "keyring"]

_COMMAND_LIMIT = 30.0
"""Seconds; a person may have to unlock something first."""
_KILL_WAIT = 1.0
_LAST_WORDS = 0.2
"""Seconds for what is left in the pipe of a command that has ended; a child of it may hold it open."""
_LONGEST = 16 * 1024


@dataclass(frozen=True, slots=True)
class Credential:
    key: str = field(repr=False)
    source: KeySource

    def place(self, config: ProviderConfig) -> str:
        """Where its owner can change it, as messages name it."""
        return {
            "environment": config.key_name,
            "config": f"providers.{config.name}.key",
            "command": f"providers.{config.name}.keyCommand",
            "dotenv": f"{config.key_name} in .env",
            "keyring": f"the keyring (pilothouse, {config.name})",
        }[self.source]


class KeyMissing(Exception):
    """Why there is no key, as a sentence."""


class Credentials:
    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        dotenv: Mapping[str, str] | None = None,
        keyring: Callable[[str], Awaitable[str | None]] = keyring_key,
        has_keyring: Callable[[], bool] = keyring_is_there,
        command_limit: float = _COMMAND_LIMIT,
    ) -> None:
        """`dotenv`: the keys of a trusted folder's `.env`. `keyring` is asked with a provider's name."""
        self._environment = environment
        self._dotenv = dotenv or {}
        self._keyring = keyring
        self._has_keyring = has_keyring
        self._command_limit = command_limit

    def with_dotenv(self, dotenv: Mapping[str, str]) -> Credentials:
        """The same sources, with the keys of a trusted folder's `.env` among them."""
        return Credentials(
            self._environment,
            dotenv=dotenv,
            keyring=self._keyring,
            has_keyring=self._has_keyring,
            command_limit=self._command_limit,
        )

    def source(self, config: ProviderConfig) -> KeySource | None:
        """Where the key would come from, without running anything; the keyring is not asked."""
        if found := self.at_hand(config):
            return found.source
        return "command" if config.key_command else None

    def hopeless(self, config: ProviderConfig) -> bool:
        """Whether there is surely no key."""
        return self.source(config) is None and not self._has_keyring()

    def is_quiet(self, config: ProviderConfig) -> bool:
        """Whether `find` neither runs a command nor asks the keyring, whose owner would wonder why."""
        return self.at_hand(config) is not None or not (config.key_command or self._has_keyring())

    def at_hand(self, config: ProviderConfig) -> Credential | None:
        """A key that nothing has to be run or asked for."""
        if key := self._environment.get(config.key_name, "").strip():
            return Credential(key, "environment")
        if config.key:
            return Credential(config.key, "config")
        key = self._dotenv.get(config.key_name, "").strip()
        # A command comes before it.
        return Credential(key, "dotenv") if key and not config.key_command else None

    async def find(self, config: ProviderConfig) -> Credential | None:
        """Raises `KeyMissing` when a source that should have a key fails."""
        if found := self.at_hand(config):
            return found
        if config.key_command:
            return Credential(await self._commanded(config), "command")
        key = await self._keyring(config.name)
        return Credential(key, "keyring") if key else None

    async def _commanded(self, config: ProviderConfig) -> str:
        setting = f"The command in providers.{config.name}.keyCommand"
        try:
            async with asyncio.timeout(self._command_limit):
                code, output = await _run(config.key_command, self._environment)
        except TimeoutError:
            raise KeyMissing(f"{setting} did not end within {self._command_limit:g} s.") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise KeyMissing(f"{setting} could not be started: {reason}.") from None
        key = output.decode("utf-8", "replace").strip().partition("\n")[0].strip()
        # What it printed is not told: it may be the key, or half of it.
        if code != 0:
            raise KeyMissing(f"{setting} failed with exit code {code}.")
        if not key:
            raise KeyMissing(f"{setting} printed nothing.")
        return key


class _Printing(asyncio.SubprocessProtocol):
    """All that is printed is taken, so that nothing holds up who prints; the beginning is kept."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.ended = asyncio.Event()
        """Nobody holds the pipe any more."""
        self.exited = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output += data[: _LONGEST - len(self.output)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.ended.set()

    def process_exited(self) -> None:
        self.exited.set()


async def _run(command: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int | None, bytes]:
    transport, printing = await asyncio.get_running_loop().subprocess_exec(
        _Printing,
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        await printing.exited.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(printing.ended.wait(), _LAST_WORDS)
        return transport.get_returncode(), bytes(printing.output)
    finally:
        if not printing.exited.is_set():
            _kill(transport.get_pid())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(printing.exited.wait(), _KILL_WAIT)
        transport.close()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)
