"""The provider objects that one set of keys has made, with the connections they hold."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.choosing.wire_formats import Provider, make_provider
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.keys.credentials import Credential, Credentials, KeyMissing, KeySource
from pilothouse_agent.models.model_traits import TraitsOf

__all__ = ["MadeProviders", "needs_key"]


@dataclass(frozen=True, slots=True)
class _Made:
    config: ProviderConfig
    timeouts: Timeouts
    credential: Credential | None
    provider: Provider


class MadeProviders:
    """By name, made when they are first asked for and anew when their settings have changed."""

    def __init__(self, credentials: Credentials, traits: TraitsOf) -> None:
        self._credentials = credentials
        self._traits = traits
        self._making: dict[str, asyncio.Lock] = {}
        self._made: dict[str, _Made] = {}
        self._retired: list[Provider] = []

    async def of(self, config: ProviderConfig, timeouts: Timeouts) -> Provider:
        """Raises `KeyMissing`."""
        async with self._making.setdefault(config.name, asyncio.Lock()):
            made = self._made.get(config.name)
            if made is None or made.config is not config or made.timeouts != timeouts:
                made = await self._make(config, timeouts)
        return made.provider

    def key_source(self, config: ProviderConfig) -> KeySource | None:
        """Where the key in use comes from, or the one that would be used, as far as it is known by now."""
        made = self._made.get(config.name)
        if made is not None and made.config is config:
            return made.credential.source if made.credential is not None else None
        return self._credentials.source(config)

    def key_at_hand(self, config: ProviderConfig) -> str:
        """The key, where nothing has to be run for it."""
        made = self._made.get(config.name)
        credential = self._credentials.at_hand(config) or (made.credential if made is not None else None)
        return credential.key if credential is not None else ""

    def key_refused(self, name: str) -> None:
        """A key that can change while we run is asked for again at the next request."""
        made = self._made.get(name)
        credential = made.credential if made is not None else None
        if credential is not None and credential.source in ("command", "keyring"):
            self._retire(name)

    async def aclose(self) -> None:
        for provider in (*self._retired, *(made.provider for made in self._made.values())):
            await provider.aclose()

    async def _make(self, config: ProviderConfig, timeouts: Timeouts) -> _Made:
        credential = await self._credentials.find(config)
        if credential is None and config.needs_key:
            raise KeyMissing(needs_key(config))
        provider = await asyncio.to_thread(
            make_provider, config, credential, timeouts=timeouts, traits=self._traits
        )
        self._retire(config.name)
        made = self._made[config.name] = _Made(config, timeouts, credential, provider)
        return made

    def _retire(self, name: str) -> None:
        # Not closed yet: an answer may still be coming in on it.
        made = self._made.pop(name, None)
        if made is not None:
            self._retired.append(made.provider)


def needs_key(config: ProviderConfig) -> str:
    """That there is none, as a sentence."""
    variable = f"set {config.key_name}, or " if config.key_name else ""
    section = f"[providers.{config.name}]"
    return f"{config.name} needs a key: {variable}give a key or keyCommand in {section} of your config.toml."
