"""What is known of models: limits, images, thinking, prices. The user's word counts most, then what its
family has in common, then the price data; of a model that is in none of them nothing is assumed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase

from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import ImageLimits, ModelLimits
from pilothouse_agent.models.choosing.families import converses, family_of
from pilothouse_agent.models.choosing.price_data import Listed, PriceData, Prices, Tariff, load_price_data
from pilothouse_agent.models.choosing.provider_config import ProviderConfig
from pilothouse_agent.models.choosing.provider_entry import ModelEntry
from pilothouse_agent.models.model_traits import ModelTraits

__all__ = ["Catalogue", "ModelFacts"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """None: not known."""

    context_window: int | None = None
    max_output: int | None = None
    images: bool | None = None
    thinking: bool | None = None
    prices: Prices = Prices()  # noqa: RUF009 - immutable


class Catalogue:
    """Until `load` has ended, it knows families and the user's word only."""

    def __init__(
        self,
        configs: Mapping[str, ProviderConfig],
        *,
        load: Callable[[], PriceData] = load_price_data,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._configs = configs
        self._load = load
        self._now = now
        self._data: PriceData | None = None
        self._loading: asyncio.Task[None] | None = None
        self._found: dict[str, Listed | None] = {}
        self._traits: dict[str, ModelTraits] = {}
        self._windows: dict[str, int | None] = {}
        """Those that servers on the user's own machine told, by model."""

    def configure(self, configs: Mapping[str, ProviderConfig]) -> None:
        self._configs = configs
        self._windows.clear()
        self._forget()

    def start(self) -> None:
        """Load the price data in the background, once."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._loaded())

    async def started(self) -> None:
        """Wait for the price data if it is being loaded."""
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def load(self) -> None:
        """Wait until the price data is there, or cannot be had."""
        self.start()
        await self.started()

    def traits(self, model: str) -> ModelTraits:
        """What a wire format has to know of `provider/model`."""
        traits = self._traits.get(model)
        if traits is None:
            facts, entry = self.facts(model), self._entry(model)
            traits = self._traits[model] = ModelTraits(
                ModelLimits(facts.context_window, facts.max_output, self._image_limits(model)),
                images=facts.images is not False,
                thinking=facts.thinking is not False,
                output_cap=entry.max_output,
            )
        return traits

    def takes_windows(self, model: str) -> bool:
        """Whether what its server tells counts: the user has said nothing."""
        return self._entry(model).context_window is None

    def note_window(self, model: str, window: int | None) -> None:
        """What its server has told; None: it does not tell."""
        self._windows[model] = window
        self._traits.pop(model, None)

    def facts(self, model: str) -> ModelFacts:
        return self._facts(model, self._listed(model))

    def offered(self, provider: str, named: Iterable[str] = ()) -> list[tuple[str, ModelFacts]]:
        """The provider's models that are known of, by id. Takes a moment where there are many.

        `named`: more that its server tells of.
        """
        config = self._configs[provider]
        ids = [f"{provider}/{name}" for name in (*config.models, *named)]
        models = {model: self._listed(model) for model in ids}
        for name, listed in self._data.offered(config.address) if self._data is not None else ():
            if converses(name) and any(fnmatchcase(name, pattern) for pattern in config.lists):
                models.setdefault(f"{provider}/{name}", listed)
        return [(model, self._facts(model, listed)) for model, listed in models.items()]

    def _facts(self, model: str, listed: Listed | None) -> ModelFacts:
        entry, family = self._entry(model), family_of(model)
        return ModelFacts(
            context_window=entry.context_window
            or self._windows.get(model)
            or (None if self._is_local(model) else family.context_window)
            or (listed.context_window if listed else None),
            max_output=entry.max_output or family.max_output,
            images=_first(entry.images, family.images),
            thinking=_first(entry.thinking, family.thinking),
            prices=self._prices(entry, listed),
        )

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """US dollars for a request that ends now; None where anything it takes is not known."""
        tariff = _own_tariff(self._entry(model))
        if tariff is not None:
            return tariff.cost(usage)
        listed = self._listed(model)
        return listed.cost(usage, self._now()) if listed is not None else None

    async def _loaded(self) -> None:
        try:
            self._data = await asyncio.to_thread(self._load)
        except Exception as error:
            logger.warning("The price data cannot be used: %s", error)
        self._forget()

    def _forget(self) -> None:
        self._found.clear()
        self._traits.clear()

    def _is_local(self, model: str) -> bool:
        """Whether what it takes in depends on how its server was started."""
        config = self._configs.get(model.partition("/")[0])
        return config is not None and (config.on_this_machine or bool(config.start))

    def _entry(self, model: str) -> ModelEntry:
        provider, _, name = model.partition("/")
        config = self._configs.get(provider)
        return config.models.get(name, _NOTHING) if config is not None else _NOTHING

    def _image_limits(self, model: str) -> ImageLimits:
        family, usual = family_of(model), ImageLimits()
        config = self._configs.get(model.partition("/")[0])
        size = config.image_size if config is not None else None
        return ImageLimits(family.image_side or usual.side, size or usual.size)

    def _listed(self, model: str) -> Listed | None:
        if self._data is None:
            return None
        if model not in self._found:
            provider, _, name = model.partition("/")
            config = self._configs.get(provider)
            self._found[model] = self._data.find(config.address, name) if config is not None else None
        return self._found[model]

    def _prices(self, entry: ModelEntry, listed: Listed | None) -> Prices:
        if (tariff := _own_tariff(entry)) is not None:
            return tariff.prices
        return listed.prices(self._now()) if listed is not None else Prices()


_NOTHING = ModelEntry()


def _first(*values: bool | None) -> bool | None:
    return next((value for value in values if value is not None), None)


def _own_tariff(entry: ModelEntry) -> Tariff | None:
    """The user's; half a price is none."""
    if entry.input_price is None or entry.output_price is None:
        return None
    return Tariff(entry.input_price, entry.output_price, entry.cache_read_price, entry.cache_write_price)
