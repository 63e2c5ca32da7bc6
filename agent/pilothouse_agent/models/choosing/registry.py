"""Which provider answers which model id, `provider/model`, and which models can be chosen."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.models.choosing.catalogue import Catalogue, ModelFacts
from pilothouse_agent.models.choosing.ledger import Ledger
from pilothouse_agent.models.choosing.local_servers import LocalServers
from pilothouse_agent.models.choosing.made_providers import MadeProviders, needs_key
from pilothouse_agent.models.choosing.near_server import NobodyAnswers
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.choosing.provider_reader import read_providers, secret_variables
from pilothouse_agent.models.choosing.running_models import running_models
from pilothouse_agent.models.choosing.wire_formats import Provider
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.keys.credentials import Credentials, KeyMissing, KeySource
from pilothouse_agent.models.scripted.provider import ScriptedModel

__all__ = ["ModelRegistry", "Offer", "Provider", "Unusable", "default_registry"]

logger = logging.getLogger(__name__)

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


@dataclass(slots=True)
class _Common:
    """What registries that differ in their keys have in common."""

    configs: Mapping[str, ProviderConfig]
    timeouts: Timeouts
    catalogue: Catalogue
    scripted: ScriptedModel
    local: LocalServers
    ledger: Ledger = field(default_factory=Ledger)


class ModelRegistry:
    """Itself a `ModelProvider`. Makes its providers when they are first used, and owns them."""

    def __init__(
        self, common: _Common, credentials: Credentials, *, others: MadeProviders | None = None
    ) -> None:
        """`others`: the providers for which no key of a `.env` is used."""
        self._common = common
        self._credentials = credentials
        self._own = MadeProviders(credentials, common.catalogue.traits)
        self._others = others or self._own
        self._with_keys: list[ModelRegistry] = []
        self._warming: dict[str, asyncio.Task[None]] = {}

    def with_keys(self, dotenv: Mapping[str, str]) -> ModelRegistry:
        """The same models, settings and ledger, for sessions of a trusted folder whose `.env` has these keys.

        Nobody else gets to use them. What needs none of them goes through the connections of this
        registry, which also closes the new one. This one itself where there are no keys.
        """
        if not dotenv:
            return self
        registry = ModelRegistry(self._common, self._credentials.with_dotenv(dotenv), others=self._own)
        self._with_keys.append(registry)
        return registry

    @property
    def providers(self) -> tuple[str, ...]:
        return (*self._common.configs, _SCRIPTED)

    @property
    def ledger(self) -> Ledger:
        return self._common.ledger

    @property
    def secret_variables(self) -> frozenset[str]:
        """What child processes must not find in their environment."""
        return secret_variables(self._common.configs)

    @property
    def key_variables(self) -> frozenset[str]:
        """What may be read from a `.env`."""
        return frozenset(config.key_name for config in self._common.configs.values() if config.key_name)

    def configure(self, configs: Mapping[str, ProviderConfig], timeouts: Timeouts) -> None:
        """For the requests to come; answers under way go on."""
        common = self._common
        kept = {name: config for name, config in common.configs.items() if configs.get(name) == config}
        common.configs = {**configs, **kept}
        common.timeouts = timeouts
        common.scripted.idle = timeouts.idle
        common.catalogue.configure(common.configs)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """The usage of the terminal event has the cost, where it is known, and is noted in the ledger."""
        try:
            provider = await self._provider(request.model)
        except (_NoProvider, KeyMissing) as error:
            kind = "modelNotFound" if isinstance(error, _NoProvider) else "auth"
            yield Failed(ErrorInfo(kind, str(error)))
            return
        if (notice := await self._small_window(request)) is not None:
            yield notice
        async with contextlib.aclosing(provider.stream(request)) as events:
            async for event in events:
                if type(event) is not Delta and isinstance(event, Finished | Failed):
                    event = await self._ended(event, request)
                yield event

    def limits(self, model: str) -> ModelLimits:
        return self._common.catalogue.traits(model).limits

    def problem(self, model: str) -> Unusable | None:
        """Why no request to this model can succeed, as far as can be told without asking anybody."""
        name, _, rest = model.partition("/")
        if not rest or name not in self.providers:
            return Unusable("unknownModel", self._unknown(model))
        config = self._common.configs.get(name)
        if config is not None and config.needs_key and self._credentials.hopeless(config):
            return Unusable("noCredentials", needs_key(config))
        return None

    def key_source(self, model: str) -> KeySource | None:
        """Where the key for a model comes from, as far as it is known by now."""
        config = self._common.configs.get(model.partition("/")[0])
        return self._made(config).key_source(config) if config is not None else None

    async def offers(self, provider: str | None = None) -> list[Offer]:
        """One provider with all its models, or all providers, and the models of those that can be used.

        May ask the keyring, and servers on this machine for their models.
        """
        await self._common.catalogue.load()
        chosen = [config for name, config in self._common.configs.items() if provider in (None, name)]
        return list(await asyncio.gather(*(self._offer(config, whole=bool(provider)) for config in chosen)))

    def warm_up(self, model: str) -> None:
        """`warm` in the background, once for each provider; ended by `aclose`."""
        name = model.partition("/")[0]
        if name not in self._warming:
            self._warming[name] = asyncio.create_task(self._warmed(model))

    async def warm(self, model: str) -> None:
        """Load what the first request to this model would have to wait for.

        Nothing is run or asked for a key, and nobody is connected to.
        """
        config = self._common.configs.get(model.partition("/")[0])
        if config is None or self._credentials.is_quiet(config):
            with contextlib.suppress(_NoProvider, KeyMissing):
                await (await self._provider(model)).warm()

    async def aclose(self) -> None:
        for task in self._warming.values():
            task.cancel()
        await asyncio.gather(*self._warming.values(), return_exceptions=True)
        for registry in self._with_keys:
            await registry.aclose()
        await self._own.aclose()
        if self._others is self._own:
            await self._common.scripted.aclose()

    async def _provider(self, model: str) -> Provider:
        """Raises `_NoProvider` and `KeyMissing`."""
        name, _, rest = model.partition("/")
        if rest and name == _SCRIPTED:
            return self._common.scripted
        config = self._common.configs.get(name) if rest else None
        if config is None:
            raise _NoProvider(self._unknown(model))
        if not config.on_this_machine:
            self._common.catalogue.start()
        return await self._made(config).of(config, self._limits_in_time(config))

    def _made(self, config: ProviderConfig) -> MadeProviders:
        found = self._credentials.at_hand(config)
        return self._own if found is not None and found.source == "dotenv" else self._others

    async def _warmed(self, model: str) -> None:
        try:
            await self.warm(model)
        except Exception as error:
            logger.info("%s could not be loaded ahead: %s", model, type(error).__name__)

    def _limits_in_time(self, config: ProviderConfig) -> Timeouts:
        timeouts = self._common.timeouts
        return Timeouts(
            config.connect or timeouts.connect, config.idle or max(config.patience, timeouts.idle)
        )

    async def _ended(self, event: Finished | Failed, request: ModelRequest) -> Finished | Failed:
        config = self._common.configs.get(request.model.partition("/")[0])
        if isinstance(event, Failed) and config is not None:
            event = await self._explained(event, config)
        if event.usage is not None:
            event = replace(event, usage=await self._priced(event.usage, request.model))
        self.ledger.add(request.session_id, request.model, request.purpose, event.usage)
        return event

    async def _explained(self, event: Failed, config: ProviderConfig) -> Failed:
        made = self._made(config)
        if event.error.kind == "auth":
            made.key_refused(config.name)
        text = await self._common.local.with_models(config, event.error, made.key_at_hand(config))
        return replace(event, error=replace(event.error, message=text))

    async def _small_window(self, request: ModelRequest) -> Notice | None:
        config = self._common.configs.get(request.model.partition("/")[0])
        if config is None:
            return None
        key = self._made(config).key_at_hand(config)
        return await self._common.local.small_window(config, request, key)

    async def _priced(self, usage: Usage, model: str) -> Usage:
        if usage.cost is not None:
            return usage
        catalogue = self._common.catalogue
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PRICE_WAIT):
                await catalogue.started()
        return replace(usage, cost=catalogue.cost(model, usage))

    async def _offer(self, config: ProviderConfig, *, whole: bool) -> Offer:
        source, reason, running = self._credentials.source(config), None, tuple[str, ...]()
        try:
            if source is None and config.needs_key:
                found = await self._credentials.find(config)
                source = found.source if found is not None else None
                reason = None if found is not None else needs_key(config)
            elif config.on_this_machine:
                running = await running_models(config, self._made(config).key_at_hand(config))
        except (KeyMissing, NobodyAnswers) as error:
            reason = str(error)
        if reason is not None and not whole:
            return Offer(config.name, source, reason)
        models = await asyncio.to_thread(self._common.catalogue.offered, config.name, running)
        return Offer(config.name, source, reason, tuple(models))

    def _unknown(self, model: str) -> str:
        known = ", ".join(sorted(self.providers))
        return f"There is no model {model!r}: an id is provider/model, and the providers are {known}."


class _NoProvider(Exception):
    """That there is none of the name, as a sentence."""


def default_registry(
    environment: Mapping[str, str],
    *,
    timeouts: Timeouts | None = None,
    settings: JsonObject | None = None,
) -> ModelRegistry:
    """The built-in providers and those of `settings`; keys, addresses and the script log come from
    `environment`."""
    timeouts = timeouts or Timeouts()
    log = environment.get("PILOTHOUSE_SCRIPT_LOG")
    configs, _ = read_providers(settings or {}, environment)
    scripted = ScriptedModel(log=Path(log) if log else None, idle=timeouts.idle)
    catalogue = Catalogue(configs)
    common = _Common(configs, timeouts, catalogue, scripted, LocalServers(catalogue))
    return ModelRegistry(common, Credentials(environment))
