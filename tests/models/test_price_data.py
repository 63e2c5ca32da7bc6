"""What the agent ships of prices is what the package genai-prices says."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import genai_prices
import pytest
from genai_prices import types
from scripts.price_data import packaged_providers, price_file

from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.models.choosing.price_data import (
    PRICE_FILE,
    Listed,
    PriceData,
    Prices,
    Seller,
    Tariff,
    load_price_data,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
USAGES = [
    Usage(1_000, 100),
    Usage(500_000, 100, cache_read=300_000, cache_write=50_000),
    Usage(10, 1, cache_read=50),
]
OPENAI = "https://api.openai.com/v1"


def test_the_price_file_is_made_from_the_installed_package() -> None:
    assert PRICE_FILE.read_bytes() == price_file(), (
        "Run python -m scripts.price_data and look at what changed."
    )


def test_sellers_are_told_by_their_addresses_as_in_the_package() -> None:
    told = [(seller.id, seller.address.pattern) for seller in load_price_data().sellers]
    assert told == [(provider.id, provider.api_pattern) for provider in packaged_providers()]


@pytest.mark.slow
def test_every_name_leads_to_the_same_model_as_in_the_package() -> None:
    ours, providers = _by_id(load_price_data()), packaged_providers()
    asked = [(provider, name) for provider in providers for name in _names(provider)]
    theirs = [_id(provider.find_model(name, all_providers=providers)) for provider, name in asked]
    assert [_id(ours.find(provider.id, name)) for provider, name in asked] == theirs


@pytest.mark.slow
def test_every_model_is_described_as_in_the_package() -> None:
    for provider, seller in zip(packaged_providers(), load_price_data().sellers, strict=True):
        for theirs, ours in zip(provider.models, seller.models, strict=True):
            told = (ours.id, ours.context_window, ours.deprecated)
            assert told == (theirs.id, theirs.context_window, bool(theirs.deprecated))


@pytest.mark.slow
def test_every_request_costs_what_the_package_says() -> None:
    for provider, seller in zip(packaged_providers(), load_price_data().sellers, strict=True):
        for theirs, ours in zip(provider.models, seller.models, strict=True):
            for when in _moments(theirs):
                told = [ours.prices(when), *(ours.cost(usage, when) for usage in USAGES)]
                right = [_prices(theirs, when), *(_cost(theirs, provider, usage, when) for usage in USAGES)]
                assert told == right, (provider.id, theirs.id, when)


def test_prices_change_with_the_day_the_hour_and_the_length_of_the_prompt() -> None:
    steps = ((0, Decimal(2)), (100, Decimal(4)))
    model = Listed(
        "m",
        tariffs=(
            Tariff(Decimal(1), Decimal(1)),
            Tariff(steps, Decimal(1), since=NOON.date()),
            Tariff(Decimal(0), Decimal(0), daily=(time(23), time(1))),
        ),
    )
    a_day, midnight = timedelta(days=1), timedelta(hours=12)
    asked = [(100, NOON - a_day), (100, NOON), (101, NOON), (100, NOON + midnight)]
    costs = [model.cost(Usage(prompt, 0), when) for prompt, when in asked]
    assert costs == [Decimal(millionths) / 1_000_000 for millionths in (100, 200, 404, 0)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("M-2025-12-11", "m"),
        ("m-20251211", "m"),
        ("m-20251211:free", None),
        ("m-20251311", None),
        ("other", "far"),
        ("farther", None),
    ],
)
def test_a_model_is_found_with_its_date_written_otherwise_and_where_it_is_resold(
    asked: str, found: str | None
) -> None:
    dated, resold = Listed("m", names=frozenset({"m-2025-12-11"})), Listed("far", names=frozenset({"other"}))
    near = Seller("near", re.compile("https://near"), (dated,), resells=("far",))
    far = Seller("far", re.compile("https://far"), (resold,), resells=("farthest",))
    farthest = Seller(
        "farthest", re.compile("https://farthest"), (Listed("x", names=frozenset({"farther"})),)
    )
    assert _id(PriceData((near, far, farthest)).find("https://near/v1", asked)) == found


@pytest.mark.slow
def test_the_packaged_prices_are_found_by_address() -> None:
    data = load_price_data()
    sonnet = data.find("https://api.anthropic.com", "claude-sonnet-4-5")
    assert sonnet is not None
    assert sonnet.context_window == 200_000
    assert sonnet.prices(NOON) == Prices(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
    usage = Usage(1_000, 100, cache_read=400, cache_write=100)
    assert sonnet.cost(usage, NOON) == Decimal("0.003495")
    assert data.find("http://127.0.0.1:8080/v1", "claude-sonnet-4-5") is None
    assert data.find("https://api.anthropic.com", "unheard-of") is None
    assert "claude-sonnet-4-5" in dict(data.offered("https://api.anthropic.com"))


@pytest.mark.slow
def test_an_impossible_usage_has_no_price() -> None:
    gpt = load_price_data().find("https://api.openai.com/v1", "gpt-4o")
    assert gpt is not None
    assert gpt.cost(Usage(10, 1, cache_read=50), NOON) is None
    assert gpt.cost(Usage(10), NOON) is None


@pytest.mark.slow
def test_loading_prices_never_goes_to_the_network() -> None:
    script = """
        import sys
        from datetime import UTC, datetime
        from pilothouse_agent.kernel.messages import Usage
        from pilothouse_agent.models.choosing.price_data import load_price_data

        def refuse(event, arguments):
            if event.startswith(("socket.connect", "socket.getaddrinfo")):
                raise SystemExit(f"it wanted to go to {arguments}")

        sys.addaudithook(refuse)
        found = load_price_data().find("https://api.openai.com/v1", "gpt-4o")
        print(found.cost(Usage(1_000_000, 0), datetime.now(UTC)))
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=30
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "2.50\n", "")


def _by_id(data: PriceData) -> PriceData:
    """With the ids in place of the addresses."""
    sellers = (replace(each, address=re.compile(re.escape(each.id) + "$")) for each in data.sellers)
    return PriceData(tuple(sellers))


def _id(model: Listed | types.ModelInfo | None) -> str | None:
    return model.id if model is not None else None


def _names(provider: types.Provider) -> Iterator[str]:
    """All that the entries' rules are of, and some about them."""
    for model in provider.models:
        yield model.id
        for text in _texts(model.match):
            yield text
            yield f"x{text}-y"
            yield re.sub(r"-(20\d\d)-(\d\d)-(\d\d)$", r"-\1\2\3", text)
    yield from (
        "unheard-of",
        "gemini-2.5-pro-tts",
        "gemini-2.5-pro-preview-tts",
        "Claude-Sonnet-4-5@20250929",
    )


def _texts(match: types.MatchLogic) -> Iterator[str]:
    if isinstance(match, types.ClauseOr | types.ClauseAnd):
        for clause in match.or_ if isinstance(match, types.ClauseOr) else match.and_:
            yield from _texts(clause)
    else:
        (text,) = vars(match).values()
        yield (
            re.sub(r"^\^|\$$|\\", "", text)
            .replace("d{8}", "20260102")
            .replace("d{4}-d{2}-d{2}", "2026-01-02")
        )


def _moments(model: types.ModelInfo) -> Iterator[datetime]:
    """Before and after each price begins."""
    yield NOON
    for price in model.prices if isinstance(model.prices, list) else ():
        match price.constraint:
            case types.StartDateConstraint(start_date=start):
                begun = datetime.combine(start, time(), UTC)
                yield from (begun - timedelta(seconds=1), begun)
            case types.TimeOfDateConstraint(start_time=start, end_time=end):
                for moment in (start, end):
                    begun = datetime.combine(NOON, moment)
                    yield from (begun - timedelta(seconds=1), begun)
            case None:
                pass


def _prices(model: types.ModelInfo, when: datetime) -> Prices:
    found = model.get_prices(when)
    kinds = [getattr(found, f"{kind}_mtok") for kind in ("input", "output", "cache_read", "cache_write")]
    return Prices(*(kind.base if isinstance(kind, types.TieredPrices) else kind for kind in kinds))


def _cost(model: types.ModelInfo, provider: types.Provider, usage: Usage, when: datetime) -> Decimal | None:
    if not _prices(model, when).sells_text:
        return None
    counted = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    try:
        return model.calc_price(counted, provider, genai_request_timestamp=when).total_price
    except ValueError:
        return None
