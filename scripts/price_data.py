"""`python -m scripts.price_data` writes what the agent knows of prices, out of the package genai-prices.

The package itself would bring a second HTTP stack and take longer to import than the server to start.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Iterator
from datetime import UTC, time
from decimal import Decimal
from typing import TypeAlias, cast

import orjson
from genai_prices import types

from pilothouse_agent.models.choosing.price_data import PRICE_FILE

__all__ = ["packaged_providers", "price_file"]

_Json: TypeAlias = "str | int | list[_Json] | dict[str, _Json]"

_KINDS = ("input", "output", "cache_read", "cache_write")
_PATTERNS = {"names": r"\A{}\Z", "starts": r"\A{}", "ends": r"{}\Z", "has": "{}", "like": "{}"}


def packaged_providers() -> list[types.Provider]:
    # Not imported by name: type checkers would read the whole data.
    return cast("list[types.Provider]", importlib.import_module("genai_prices.data").providers)


def price_file() -> bytes:
    """One line a model, so that a difference can be read; the licence goes where the data goes."""
    package = importlib.metadata.distribution("genai-prices")
    licence = package.read_text("licenses/LICENSE")
    head = {"source": f"genai-prices {package.version}", "licence": licence}
    sellers = ",\n".join(_seller(provider) for provider in packaged_providers())
    return f'{_line(head)[:-1]},"sellers":[\n{sellers}\n]}}\n'.encode()


def _seller(provider: types.Provider) -> str:
    head: dict[str, _Json] = {
        "id": provider.id,
        "address": provider.api_pattern,
        "resells": list(provider.fallback_model_providers or ()),
    }
    models = ",\n".join(_line(_model(model)) for model in provider.models)
    return f'{_line(head)[:-1]},"models":[\n{models}\n]}}'


def _line(value: object) -> str:
    return orjson.dumps(value).decode()


def _model(model: types.ModelInfo) -> dict[str, _Json]:
    entry: dict[str, _Json] = {"id": model.id}
    for kind, text in _rules(model.match):
        cast("list[_Json]", entry.setdefault(kind, [])).append(text)
    if model.context_window:
        entry["context_window"] = model.context_window
    if model.deprecated:
        entry["deprecated"] = True
    tariffs = (
        model.prices if isinstance(model.prices, list) else [types.ConditionalPrice(prices=model.prices)]
    )
    entry["tariffs"] = [_tariff(each) for each in tariffs]
    return entry


def _rules(match: types.MatchLogic) -> Iterator[tuple[str, str]]:
    """Of which one has to be true; names are asked for in small letters."""
    match match:
        case types.ClauseEquals():
            yield "names", match.equals.lower()
        case types.ClauseStartsWith():
            yield "starts", match.starts_with.lower()
        case types.ClauseEndsWith():
            yield "ends", match.ends_with.lower()
        case types.ClauseContains():
            yield "has", match.contains.lower()
        case types.ClauseRegex():
            yield "like", match.regex
        case types.ClauseOr():
            for clause in match.or_:
                yield from _rules(clause)
        case types.ClauseAnd():
            yield "like", r"\A" + "".join(f"(?=.*?(?:{_pattern(clause)}))" for clause in match.and_)


def _pattern(match: types.MatchLogic) -> str:
    return "|".join(
        _PATTERNS[kind].format(text if kind == "like" else re.escape(text)) for kind, text in _rules(match)
    )


def _tariff(conditional: types.ConditionalPrice) -> dict[str, _Json]:
    tariff: dict[str, _Json] = {}
    for kind in _KINDS:
        price = getattr(conditional.prices, f"{kind}_mtok")
        if price is not None:
            tariff[kind] = _rate(price)
    if requests := conditional.prices.requests_kcount:
        tariff["thousand_requests"] = str(requests)
    match conditional.constraint:
        case types.StartDateConstraint(start_date=start):
            tariff["since"] = start.isoformat()
        case types.TimeOfDateConstraint(start_time=start, end_time=end):
            tariff["daily"] = [_by_utc(start), _by_utc(end)]
        case None:
            pass
    return tariff


def _rate(price: Decimal | types.TieredPrices) -> _Json:
    if isinstance(price, Decimal):
        return str(price)
    return [[0, str(price.base)], *([tier.start, str(tier.price)] for tier in price.tiers)]


def _by_utc(moment: time) -> str:
    if moment.tzinfo not in (None, UTC):
        raise SystemExit(f"The data has a time that is not by UTC ({moment}): teach `_by_utc` to convert it.")
    return moment.replace(tzinfo=None).isoformat()


if __name__ == "__main__":
    PRICE_FILE.write_bytes(price_file())
