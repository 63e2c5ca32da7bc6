"""Context windows and prices out of the package genai-prices: the data it ships, never its network update."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Protocol, TypeAlias, cast

from pilothouse_agent.kernel.messages import Usage

__all__ = ["Listed", "PriceData", "Prices", "load_price_data"]

logger = logging.getLogger(__name__)

_KINDS = ("input", "output", "cache_read", "cache_write")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens; None: not known. Long prompts may cost more than this."""

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

    def offered(self, address: str) -> Iterator[tuple[str, Listed]]:
        """The models there that take and give text at a known price, by name."""
        ...


def load_price_data() -> PriceData:
    """Takes some tenths of a second and some megabytes: call it in a thread. Raises `ImportError`."""
    # Not imported by name: type checkers would read the whole data.
    package = importlib.import_module("genai_prices")
    data = importlib.import_module("genai_prices.data")
    return _Packaged(cast("list[_Provider]", data.providers), package.Usage)


class _Calculation(Protocol):
    total_price: Decimal


class _Model(Protocol):
    id: str
    context_window: int | None
    deprecated: bool | None

    def get_prices(self, request_timestamp: datetime) -> object: ...

    def calc_price(
        self, usage: object, provider: _Provider, *, genai_request_timestamp: datetime
    ) -> _Calculation: ...


class _Provider(Protocol):
    api_pattern: str
    models: list[_Model]

    def find_model(self, model_ref: str, *, all_providers: list[_Provider]) -> _Model | None: ...


_Counted: TypeAlias = "Callable[..., object]"


class _Packaged:
    def __init__(self, providers: list[_Provider], counted: _Counted) -> None:
        self._providers = providers
        self._counted = counted

    def find(self, address: str, model: str) -> Listed | None:
        provider = self._provider(address)
        if provider is None:
            return None
        found = provider.find_model(model, all_providers=self._providers)
        return _Packed(found, provider, self._counted) if found is not None else None

    def offered(self, address: str) -> Iterator[tuple[str, Listed]]:
        provider, now = self._provider(address), datetime.now(UTC)
        if provider is None:
            return
        for model in provider.models:
            packed = _Packed(model, provider, self._counted)
            if not model.deprecated and packed.prices(now).sells_text:
                yield model.id, packed

    def _provider(self, address: str) -> _Provider | None:
        matching = (each for each in self._providers if re.match(each.api_pattern, address))
        return next(matching, None)


class _Packed:
    def __init__(self, model: _Model, provider: _Provider, counted: _Counted) -> None:
        self._model = model
        self._provider = provider
        self._counted = counted

    @property
    def context_window(self) -> int | None:
        return self._model.context_window

    def prices(self, when: datetime) -> Prices:
        found = self._model.get_prices(when.astimezone(UTC))
        return Prices(*(_base(getattr(found, f"{kind}_mtok", None)) for kind in _KINDS))

    def cost(self, usage: Usage, when: datetime) -> Decimal | None:
        if usage.input is None or usage.output is None or not self.prices(when).sells_text:
            return None
        counted = self._counted(
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
