"""Context windows and prices out of the package genai-prices: the data it ships, never its network update."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from pilothouse_agent.kernel.messages import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

__all__ = ["Listed", "PriceData", "Prices", "load_price_data"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens; None: not known. Where long prompts cost more, the price of short ones."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    @property
    def sells_text(self) -> bool:
        return self.input is not None and self.output is not None


class Listed(Protocol):
    """A model that has an entry."""

    @property
    def context_window(self) -> int | None: ...

    def prices(self, when: datetime) -> Prices: ...

    def cost(self, usage: Usage, when: datetime) -> Decimal | None:
        """US dollars for a request; None where the price of something in it is not known."""
        ...


class PriceData(Protocol):
    def find(self, address: str, model: str) -> Listed | None:
        """By the address the request goes to: the same model costs otherwise elsewhere."""
        ...

    def names(self, address: str) -> tuple[str, ...]:
        """The models offered there that take and give text at a known price."""
        ...


def load_price_data() -> PriceData:
    """Takes some tenths of a second and some megabytes: call it in a thread. Raises `ImportError`."""
    from genai_prices.data import providers

    return _Packaged({provider.id: provider for provider in providers})


class _Packaged:
    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = providers

    def find(self, address: str, model: str) -> Listed | None:
        provider = self._provider(address)
        if provider is None:
            return None
        found = provider.find_model(model, all_providers=list(self._providers.values()))
        return _Packed(found, provider) if found is not None else None

    def names(self, address: str) -> tuple[str, ...]:
        provider, now = self._provider(address), datetime.now(UTC)
        if provider is None:
            return ()
        return tuple(
            model.id
            for model in provider.models
            if not model.deprecated and _Packed(model, provider).prices(now).sells_text
        )

    def _provider(self, address: str) -> Provider | None:
        matching = (each for each in self._providers.values() if re.match(each.api_pattern, address))
        return next(matching, None)


class _Packed:
    def __init__(self, model: ModelInfo, provider: Provider) -> None:
        self._model = model
        self._provider = provider

    @property
    def context_window(self) -> int | None:
        return self._model.context_window

    def prices(self, when: datetime) -> Prices:
        found = self._model.get_prices(when.astimezone(UTC))
        return Prices(
            _base(found.input_mtok),
            _base(found.output_mtok),
            _base(found.cache_read_mtok),
            _base(found.cache_write_mtok),
        )

    def cost(self, usage: Usage, when: datetime) -> Decimal | None:
        from genai_prices import Usage as Counted

        if usage.input is None or usage.output is None or not self.prices(when).sells_text:
            return None
        counted = Counted(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
        )
        try:
            price = self._model.calc_price(counted, self._provider, genai_request_timestamp=when)
        except Exception as error:
            # No price is worth a good answer.
            logger.warning(
                "The price of %s could not be worked out: %s", self._model.id, type(error).__name__
            )
            return None
        return price.total_price


def _base(price: object) -> Decimal | None:
    price = getattr(price, "base", price)
    return price if isinstance(price, Decimal) else None
