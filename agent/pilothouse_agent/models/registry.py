"""Which provider answers which model id, `provider/model`, and which models can be chosen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.models.catalogue import Catalogue, ModelFacts
from pilothouse_agent.models.connection import Timeouts
from pilothouse_agent.models.credentials import Credential, Credentials, KeyMissing, KeySource
from pilothouse_agent.models.ledger import Ledger
from pilothouse_agent.models.provider_config import ProviderConfig
from pilothouse_agent.models.provider_reader import read_providers, secret_variables
from pilothouse_agent.models.running_models import NotRunning, running_models
from pilothouse_agent.models.scripted import ScriptedModel
from pilothouse_agent.models.wire_formats import Provider, make_provider

__all__ = ["ModelRegistry", "Offer", "Provider", "Unusable", "default_registry"]

_PRICE_WAIT = 5.0
"""Seconds the end of an answer may be held back until prices are there; the first one only."""
_SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a model cannot be used."""

    kind: Literal["unknownModel", "noCredentials"]
    message: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A provider, and what is known of its models."""

    provider: str
    source: KeySource | None
    """Where its key comes from; None: it has none."""
    reason: str | None
    """Why it cannot be used; None: it can."""
    models: tuple[tuple[str, ModelFacts], ...] = ()


@dataclass(frozen=True, slots=True)
class _Made:
    config: ProviderConfig
    timeouts: Timeouts
    credential: Credential | None
    provider: Provider


class ModelRegistry:
    """Itself a `ModelProvider`. Makes its providers when they are first used, and owns them."""

    def __init__(
        self,
        configs: Mapping[str, ProviderConfig],
        *,
        credentials: Credentials,
        timeouts: Timeouts,
        scripted: ScriptedModel,
        catalogue: Catalogue | None = None,
    ) -> None:
        self._configs = dict(configs)
        self._credentials = credentials
        self._timeouts = timeouts
        self.ledger = Ledger()
        self._scripted = scripted
        self._catalogue = catalogue or Catalogue(self._configs)
        self._making: dict[str, asyncio.Lock] = {}
        self._made: dict[str, _Made] = {}
        self._retired: list[Provider] = []

    @property
    def providers(self) -> tuple[str, ...]:
        return (*self._configs, _SCRIPTED)

    @property
    def secret_variables(self) -> frozenset[str]:
        """What child processes must not find in their environment."""
        return secret_variables(self._configs)

    def configure(self, configs: Mapping[str, ProviderConfig], timeouts: Timeouts) -> None:
        """For the requests to come; answers under way go on."""
        kept = {name: config for name, config in self._configs.items() if configs.get(name) == config}
        self._configs = {**configs, **kept}
        self._timeouts = timeouts
        self._scripted.idle = timeouts.idle
        self._catalogue.configure(self._configs)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """The usage of the terminal event has the cost, where it is known, and is noted in the ledger."""
        try:
            provider = await self._provider(request.model)
        except (_NoProvider, KeyMissing) as error:
            kind = "modelNotFound" if isinstance(error, _NoProvider) else "auth"
            yield Failed(ErrorInfo(kind, str(error)))
            return
        async with contextlib.aclosing(provider.stream(request)) as events:
            async for event in events:
                if type(event) is not Delta and isinstance(event, Finished | Failed):
                    event = await self._ended(event, request)
                yield event

    def limits(self, model: str) -> ModelLimits:
        return self._catalogue.traits(model).limits

    def problem(self, model: str) -> Unusable | None:
        """Why no request to this model can succeed, as far as can be told without asking anybody."""
        name, _, rest = model.partition("/")
        if not rest or name not in self.providers:
            return Unusable("unknownModel", self._unknown(model))
        config = self._configs.get(name)
        if config is not None and config.needs_key and self._credentials.hopeless(config):
            return Unusable("noCredentials", _needs_key(config))
        return None

    def key_source(self, model: str) -> KeySource | None:
        """Where the key for a model comes from, as far as it is known by now."""
        name = model.partition("/")[0]
        made, config = self._made.get(name), self._configs.get(name)
        if made is not None and made.config is config:
            return made.credential.source if made.credential is not None else None
        return self._credentials.source(config) if config is not None else None

    async def offers(self, provider: str | None = None) -> list[Offer]:
        """One provider with all its models, or all providers, and the models of those that can be used.

        May ask the keyring, and servers on this machine for their models.
        """
        await self._catalogue.load()
        chosen = [config for name, config in self._configs.items() if provider in (None, name)]
        return list(await asyncio.gather(*(self._offer(config, whole=bool(provider)) for config in chosen)))

    async def warm(self, model: str) -> None:
        """Load what the first request to this model would have to wait for."""
        with contextlib.suppress(_NoProvider, KeyMissing):
            await (await self._provider(model)).warm()

    async def aclose(self) -> None:
        providers = [*self._retired, *(made.provider for made in self._made.values()), self._scripted]
        for provider in providers:
            await provider.aclose()

    async def _provider(self, model: str) -> Provider:
        """Raises `_NoProvider` and `KeyMissing`."""
        name, _, rest = model.partition("/")
        if rest and name == _SCRIPTED:
            return self._scripted
        config = self._configs.get(name) if rest else None
        if config is None:
            raise _NoProvider(self._unknown(model))
        if not config.on_this_machine:
            self._catalogue.start()
        timeouts = self._limits_in_time(config)
        async with self._making.setdefault(name, asyncio.Lock()):
            made = self._made.get(name)
            if made is None or made.config is not config or made.timeouts != timeouts:
                made = await self._make(config, timeouts)
        return made.provider

    async def _make(self, config: ProviderConfig, timeouts: Timeouts) -> _Made:
        credential = await self._credentials.find(config)
        if credential is None and config.needs_key:
            raise KeyMissing(_needs_key(config))
        traits = self._catalogue.traits
        provider = await asyncio.to_thread(
            make_provider, config, credential, timeouts=timeouts, traits=traits
        )
        self._retire(config.name)
        made = self._made[config.name] = _Made(config, timeouts, credential, provider)
        return made

    def _retire(self, name: str) -> None:
        # Not closed yet: an answer may still be coming in on it.
        made = self._made.pop(name, None)
        if made is not None:
            self._retired.append(made.provider)

    def _limits_in_time(self, config: ProviderConfig) -> Timeouts:
        return Timeouts(
            config.connect or self._timeouts.connect,
            config.idle or max(config.patience, self._timeouts.idle),
        )

    async def _ended(self, event: Finished | Failed, request: ModelRequest) -> Finished | Failed:
        made = self._made.get(request.model.partition("/")[0])
        if isinstance(event, Failed) and event.error.kind == "auth" and made is not None:
            self._forget_key(made)
        if event.usage is not None:
            event = replace(event, usage=await self._priced(event.usage, request.model))
        self.ledger.add(request.session_id, request.model, request.purpose, event.usage)
        return event

    def _forget_key(self, made: _Made) -> None:
        """A refused key that can change while we run is asked for again at the next request."""
        if made.credential is not None and made.credential.source in ("command", "keyring"):
            self._retire(made.config.name)

    async def _priced(self, usage: Usage, model: str) -> Usage:
        if usage.cost is not None:
            return usage
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PRICE_WAIT):
                await self._catalogue.started()
        return replace(usage, cost=self._catalogue.cost(model, usage))

    async def _offer(self, config: ProviderConfig, *, whole: bool) -> Offer:
        source, reason, running = self._credentials.source(config), None, tuple[str, ...]()
        try:
            if source is None and config.needs_key:
                found = await self._credentials.find(config)
                source = found.source if found is not None else None
                reason = None if found is not None else _needs_key(config)
            elif config.on_this_machine:
                running = await running_models(config, self._key_at_hand(config))
        except (KeyMissing, NotRunning) as error:
            reason = str(error)
        if reason is not None and not whole:
            return Offer(config.name, source, reason)
        models = await asyncio.to_thread(self._catalogue.offered, config.name, running)
        return Offer(config.name, source, reason, tuple(models))

    def _key_at_hand(self, config: ProviderConfig) -> str:
        """The key, where nothing has to be run for it."""
        made = self._made.get(config.name)
        credential = self._credentials.at_hand(config) or (made.credential if made is not None else None)
        return credential.key if credential is not None else ""

    def _unknown(self, model: str) -> str:
        known = ", ".join(sorted(self.providers))
        return f"There is no model {model!r}: an id is provider/model, and the providers are {known}."


class _NoProvider(Exception):
    """That there is none of the name, as a sentence."""


def _needs_key(config: ProviderConfig) -> str:
    variable = f"set {config.key_name}, or " if config.key_name else ""
    section = f"[providers.{config.name}]"
    return f"{config.name} needs a key: {variable}give a key or keyCommand in {section} of your config.toml."


def default_registry(
    environment: Mapping[str, str],
    *,
    timeouts: Timeouts | None = None,
    settings: JsonObject | None = None,
    dotenv: Mapping[str, str] | None = None,
) -> ModelRegistry:
    """The built-in providers and those of `settings`; keys, addresses and the script log come from
    `environment`, keys also from `dotenv`."""
    timeouts = timeouts or Timeouts()
    log = environment.get("PILOTHOUSE_SCRIPT_LOG")
    configs, _ = read_providers(settings or {}, environment)
    return ModelRegistry(
        configs,
        credentials=Credentials(environment, dotenv=dotenv),
        timeouts=timeouts,
        scripted=ScriptedModel(log=Path(log) if log else None, idle=timeouts.idle),
    )
