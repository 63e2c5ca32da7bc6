"""Context windows and prices out of price_data.json, which `python -m scripts.price_data` writes."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from pilothouse_agent.kernel.messages import Usage

__all__ = ["PRICE_FILE", "Listed", "PriceData", "Prices", "Rate", "Seller", "Tariff", "load_price_data"]

logger = logging.getLogger(__name__)

PRICE_FILE = Path(__file__).with_suffix(".json")

_MILLION = 1_000_000
_COMPACT_DATE = re.compile(r"-(20\d\d)(\d\d)(\d\d)(?=-|:|$)")


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


Rate: TypeAlias = Decimal | tuple[tuple[int, Decimal], ...]
"""US dollars for a million tokens; of steps that counts, for all tokens, whose number the prompt exceeds."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """None: not known; cached tokens without a rate cost what others do."""

    input: Rate | None = None
    output: Rate | None = None
    cache_read: Rate | None = None
    cache_write: Rate | None = None
    thousand_requests: Decimal = Decimal(0)
    since: date | None = None
    daily: tuple[time, time] | None = None
    """From the first to before the second, which may be on the next day; as `since`, by UTC."""

    @property
    def prices(self) -> Prices:
        rates = (self.input, self.output, self.cache_read, self.cache_write)
        return Prices(*(None if rate is None else _at(rate, 0) for rate in rates))

    def fresh(self, usage: Usage) -> int:
        """Tokens that cost what `input` says; less than none where more is said to be cached."""
        read = usage.cache_read if self.cache_read is not None else 0
        written = usage.cache_write if self.cache_write is not None else 0
        return (usage.input or 0) - (read or 0) - (written or 0)

    def cost(self, usage: Usage) -> Decimal | None:
        """US dollars for a request; None where the price of something in it is not known."""
        if usage.input is None or usage.output is None or self.input is None or self.output is None:
            return None
        counted = (
            (max(self.fresh(usage), 0), self.input),
            (usage.output, self.output),
            (usage.cache_read or 0, self.cache_read),
            (usage.cache_write or 0, self.cache_write),
        )
        paid = (_at(rate, usage.input) * number for number, rate in counted if rate is not None)
        return sum(paid, Decimal(0)) / _MILLION + self.thousand_requests / 1000

    def holds(self, when: datetime) -> bool:
        when = when.astimezone(UTC)
        if self.since is not None and when.date() < self.since:
            return False
        if self.daily is None:
            return True
        (begin, end), now = self.daily, when.time()
        return begin <= now < end if begin <= end else now >= begin or now < end


@dataclass(frozen=True, slots=True)
class Listed:
    """A model that has an entry; it goes by every name that one of its rules is true of."""

    id: str
    names: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    like: tuple[re.Pattern[str], ...] = ()
    context_window: int | None = None
    deprecated: bool = False
    tariffs: tuple[Tariff, ...] = ()
    """The last that holds counts; where none does, the first."""

    def goes_by(self, name: str) -> bool:
        return (
            name in self.names
            or name.startswith(self.starts)
            or name.endswith(self.ends)
            or any(part in name for part in self.has)
            or any(pattern.search(name) for pattern in self.like)
        )

    def prices(self, when: datetime) -> Prices:
        return self._tariff(when).prices

    def cost(self, usage: Usage, when: datetime) -> Decimal | None:
        """US dollars for a request; None where it is not known, or cannot be what is told of it."""
        tariff = self._tariff(when)
        cost = tariff.cost(usage)
        if cost is not None and tariff.fresh(usage) < 0:
            logger.warning("The price of %s is not known: more was cached of a prompt than it had", self.id)
            return None
        return cost

    def _tariff(self, when: datetime) -> Tariff:
        holding = (each for each in reversed(self.tariffs) if each.holds(when))
        return next(holding, self.tariffs[0] if self.tariffs else Tariff())


@dataclass(frozen=True, slots=True)
class Seller:
    id: str
    address: re.Pattern[str]
    models: tuple[Listed, ...] = ()
    resells: tuple[str, ...] = ()
    """Other sellers' ids, whose models it has too."""

    def find(self, name: str) -> Listed | None:
        return next((model for model in self.models if model.goes_by(name)), None)


@dataclass(frozen=True, slots=True)
class PriceData:
    sellers: tuple[Seller, ...] = ()

    def find(self, address: str, model: str) -> Listed | None:
        """By the address the request goes to: the same model costs otherwise elsewhere."""
        seller = self._seller(address)
        if seller is None:
            return None
        others = {each.id: each for each in self.sellers}
        asked = (seller, *(others[id] for id in seller.resells))
        # Some servers write dates without dashes, which the entries have.
        names = dict.fromkeys((model.lower(), _COMPACT_DATE.sub(_dashed, model.lower())))
        found = (each.find(name) for name in names for each in asked)
        return next((listed for listed in found if listed is not None), None)

    def offered(self, address: str) -> Iterator[tuple[str, Listed]]:
        """The models there that take and give text at a known price, by name."""
        seller, now = self._seller(address), datetime.now(UTC)
        for model in seller.models if seller is not None else ():
            if not model.deprecated and model.prices(now).sells_text:
                yield model.id, model

    def _seller(self, address: str) -> Seller | None:
        return next((each for each in self.sellers if each.address.match(address)), None)


def load_price_data() -> PriceData:
    """Takes some hundredths of a second: call it in a thread."""
    return TypeAdapter(PriceData).validate_json(PRICE_FILE.read_bytes())


def _at(rate: Rate, prompt: int) -> Decimal:
    if isinstance(rate, Decimal):
        return rate
    return next((price for tokens, price in reversed(rate) if prompt > tokens), rate[0][1])


def _dashed(found: re.Match[str]) -> str:
    year, month, day = found.groups()
    try:
        return f"-{date(int(year), int(month), int(day))}"
    except ValueError:
        return found[0]
